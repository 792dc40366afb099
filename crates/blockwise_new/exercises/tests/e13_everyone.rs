//! Exercise 13.

mod common;

use blockwise::{Device, Result};
use my_project::e13_everyone::{THREADS, from_the_first};

#[test]
fn every_thread_arrives() -> Result<()> {
    let device = Device::checked();
    for len in [THREADS, 3 * THREADS, 2 * THREADS + 5, 7] {
        let values: Vec<i32> = (0..len as i32).map(|i| i * i % 311 - 100).collect();
        let (x, mut y) = (device.upload(&values)?, device.zeros::<i32>(len)?);
        let kernel = from_the_first::on(&device)?
            .block(THREADS as u32)
            .covering(len)?;
        // SAFETY: `y` is borrowed mutably.
        unsafe { kernel.launch(&x, &mut y)? };
        let blocks = values.chunks(THREADS);
        let right: Vec<i32> = blocks
            .flat_map(|block| block.iter().map(|x| x - block[0]))
            .collect();
        common::equal(&y.to_vec()?, &right, format_args!("{len} elements"));
    }
    Ok(())
}
