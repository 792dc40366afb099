//! Exercise 11.

mod common;

use blockwise::{Device, Result};
use my_project::e11_wide_loads::sums_of_four;

fn run(device: &Device, len: usize) -> Result<()> {
    let values: Vec<f32> = (0..4 * len).map(|i| (i % 50) as f32).collect();
    let (x, mut y) = (device.upload(&values)?, device.zeros::<f32>(len)?);
    let kernel = sums_of_four::on(device)?.block(128).covering(len)?;
    // SAFETY: `y` is borrowed mutably.
    unsafe { kernel.launch(&x, &mut y)? };
    let right: Vec<f32> = values.chunks(4).map(|four| four.iter().sum()).collect();
    common::equal(&y.to_vec()?, &right, format_args!("{len} sums"));
    Ok(())
}

#[test]
fn four_neighbours_are_added() -> Result<()> {
    run(&Device::checked(), 128)?;
    run(&Device::checked(), 301)
}

#[test]
fn every_byte_of_a_sector_is_used() -> Result<()> {
    let loads = common::profile(|device| run(device, 256))?
        .total()
        .global_loads;
    assert_eq!(
        loads.efficiency(),
        Some(1.0),
        "share of the bytes that is used"
    );
    assert_eq!(loads.sectors_per_request(), Some(16.0), "512 bytes a warp");
    Ok(())
}
