//! Exercise 5.

mod common;

use blockwise::{Device, Result};
use my_project::e05_coalescing::halve;

/// Two blocks of 64 threads have 1024 elements.
fn run(device: &Device, len: usize) -> Result<()> {
    let values: Vec<f32> = (0..len).map(|i| i as f32).collect();
    let (x, mut y) = (device.upload(&values)?, device.zeros::<f32>(len)?);
    let kernel = halve::on(device)?.grid(2).block(64);
    // SAFETY: `y` is borrowed mutably.
    unsafe { kernel.launch(&x, &mut y)? };
    let right: Vec<f32> = values.iter().map(|x| 0.5 * x).collect();
    common::equal(&y.to_vec()?, &right, format_args!("{len} elements"));
    Ok(())
}

#[test]
fn every_element_is_halved_once() -> Result<()> {
    run(&Device::checked(), 1_024)?;
    run(&Device::checked(), 777)
}

#[test]
fn a_warp_touches_four_sectors() -> Result<()> {
    let total = common::profile(|device| run(device, 1_024))?.total();
    // 32 floats are 128 bytes: 4 sectors of 32.
    assert_eq!(
        total.global_loads.sectors_per_request(),
        Some(4.0),
        "sectors per load"
    );
    assert_eq!(
        total.global_stores.sectors_per_request(),
        Some(4.0),
        "sectors per store"
    );
    Ok(())
}
