//! Exercise 3.

mod common;

use blockwise::{Device, Result};
use my_project::e03_barrier::{THREADS, rotate};

#[test]
fn each_block_is_rotated_without_a_race() -> Result<()> {
    let device = Device::checked();
    let values: Vec<u32> = (0..3 * THREADS as u32).map(|i| i * i).collect();
    let (x, mut y) = (device.upload(&values)?, device.zeros::<u32>(values.len())?);
    let kernel = rotate::on(&device)?.grid(3).block(THREADS as u32);
    // SAFETY: `y` is borrowed mutably; on the emulator a race harms nothing but the result.
    unsafe { kernel.launch(&x, &mut y)? };
    let mut right = values;
    right
        .chunks_mut(THREADS)
        .for_each(|block| block.rotate_left(1));
    common::equal(&y.to_vec()?, &right, "elements");
    Ok(())
}
