//! Exercise 10.

mod common;

use blockwise::{Device, Result};
use my_project::e10_atomics::{THREADS, count_sevens};

const BLOCKS: u32 = 4;

fn run(device: &Device, len: u32) -> Result<()> {
    let values: Vec<u32> = (0..len).map(|i| i * i).collect();
    let (x, mut total) = (device.upload(&values)?, device.zeros::<u32>(1)?);
    let kernel = count_sevens::on(device)?.grid(BLOCKS).block(THREADS as u32);
    // SAFETY: `total` is borrowed mutably; on the emulator a race harms nothing but the result.
    #[allow(unused_unsafe, reason = "the solution is safe")]
    unsafe {
        kernel.launch(&x, &mut total)?
    };
    let right = values.iter().filter(|x| x.is_multiple_of(7)).count();
    common::equal(
        &total.to_vec()?,
        &[right as u32],
        format_args!("{len} elements"),
    );
    Ok(())
}

#[test]
fn nothing_is_lost_and_nothing_races() -> Result<()> {
    run(&Device::checked(), 100)?;
    run(&Device::checked(), 5_000)
}

#[test]
fn a_block_adds_once() -> Result<()> {
    let total = common::profile(|device| run(device, 5_000))?.total();
    let additions = total.global_atomics.requests;
    assert_eq!(additions, u64::from(BLOCKS), "additions to the total");
    Ok(())
}
