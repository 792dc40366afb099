//! Exercise 2.

mod common;

use blockwise::{Device, Result};
use my_project::e02_covering::double;

/// Launches a grid of that many blocks of 64 threads.
fn run(len: usize, blocks: u32) -> Result<()> {
    let device = Device::checked();
    let values: Vec<u32> = (1..=len as u32).collect();
    let (x, mut y) = (device.upload(&values)?, device.zeros::<u32>(len)?);
    let kernel = double::on(&device)?.grid(blocks).block(64);
    // SAFETY: `y` is borrowed mutably. The rest is what the exercise is about; on the emulator an
    // access out of bounds harms nothing.
    unsafe { kernel.launch(&x, &mut y)? };
    let right: Vec<u32> = values.iter().map(|x| 2 * x).collect();
    common::equal(
        &y.to_vec()?,
        &right,
        format_args!("{len} elements, {blocks} blocks of 64"),
    );
    Ok(())
}

#[test]
fn threads_past_the_end_touch_nothing() -> Result<()> {
    run(100, 2)?;
    run(1, 1)
}

#[test]
fn a_small_grid_covers_a_long_array() -> Result<()> {
    run(1_000, 2)?;
    run(1_000, 1)
}
