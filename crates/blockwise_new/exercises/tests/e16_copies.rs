//! Exercise 16.

mod common;

use blockwise::{Device, Result};
use my_project::e16_copies::{THREADS, reverse_copied};

#[test]
fn no_thread_reads_before_the_copy_has_ended() -> Result<()> {
    let device = Device::checked();
    let values: Vec<u32> = (0..4 * THREADS as u32).map(|i| 5 * i + 2).collect();
    let (x, mut y) = (device.upload(&values)?, device.zeros::<u32>(values.len())?);
    let kernel = reverse_copied::on(&device)?.grid(4).block(THREADS as u32);
    // SAFETY: `y` is borrowed mutably; on the emulator a race harms nothing but the result.
    unsafe { kernel.launch(&x, &mut y)? };
    let mut right = values;
    right.chunks_mut(THREADS).for_each(<[u32]>::reverse);
    common::equal(&y.to_vec()?, &right, "elements");
    Ok(())
}
