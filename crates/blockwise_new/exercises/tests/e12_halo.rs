//! Exercise 12.

mod common;

use blockwise::{Device, Result};
use my_project::e12_halo::{RADIUS, THREADS, dilate};

fn run(device: &Device, len: usize) -> Result<()> {
    let values: Vec<u32> = (0..len as u32).map(|i| i * 7_919 % 1_009).collect();
    let (x, mut y) = (device.upload(&values)?, device.zeros::<u32>(len)?);
    dilate::on(device)?.covering(len)?.launch(&x, &mut y)?;
    for (i, got) in y.to_vec()?.into_iter().enumerate() {
        let window = &values[i.saturating_sub(RADIUS)..len.min(i + RADIUS + 1)];
        assert_eq!(Some(&got), window.iter().max(), "output {i} of {len}");
    }
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
