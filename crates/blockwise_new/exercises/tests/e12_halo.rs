//! Exercise 12.

mod common;

use blockwise::{Device, Result};
use my_project::e12_halo::{RADIUS, THREADS, dilate};

fn run(device: &Device, len: usize) -> Result<()> {
    let values: Vec<u32> = (0..len as u32).map(|i| i * 7_919 % 1_009).collect();
    let (x, mut y) = (device.upload(&values)?, device.zeros::<u32>(len)?);
    dilate::on(device)?.covering(len)?.launch(&x, &mut y)?;
    let window = |i: usize| &values[i.saturating_sub(RADIUS)..len.min(i + RADIUS + 1)];
    let right: Vec<_> = (0..len)
        .filter_map(|i| window(i).iter().max().copied())
        .collect();
    common::equal(&y.to_vec()?, &right, format_args!("{len} elements"));
    Ok(())
}

#[test]
fn windows_cross_the_tiles_ends() -> Result<()> {
    for len in [1, THREADS - 1, THREADS + 1, 1_000] {
        run(&Device::checked(), len)?;
    }
    Ok(())
}

#[test]
fn each_element_is_loaded_about_once() -> Result<()> {
    let total = common::profile(|device| run(device, 4 * THREADS))?.total();
    // Eight warps for each of four tiles, and one for its halo.
    let requests = total.global_loads.requests;
    assert!(
        requests <= 4 * (8 + 2),
        "{requests} loads from global memory"
    );
    Ok(())
}
