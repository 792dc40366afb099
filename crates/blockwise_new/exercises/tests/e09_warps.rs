//! Exercise 9.

mod common;

use blockwise::{Device, Result};
use my_project::e09_warps::running_sums;

fn run(device: &Device, len: usize) -> Result<()> {
    let values: Vec<u32> = (0..len as u32).map(|i| i % 17 + 1).collect();
    let (x, mut y) = (device.upload(&values)?, device.zeros::<u32>(len)?);
    running_sums::on(device)?.grid(2).launch(&x, &mut y)?;
    let right: Vec<u32> = (0..len)
        .map(|i| values[i / 32 * 32..=i].iter().sum())
        .collect();
    common::equal(&y.to_vec()?, &right, format_args!("{len} elements"));
    Ok(())
}

#[test]
fn every_group_of_32_is_summed() -> Result<()> {
    for len in [32, 128, 640, 1_000] {
        run(&Device::checked(), len)?;
    }
    Ok(())
}

#[test]
fn no_shared_memory_and_no_barrier() -> Result<()> {
    let total = common::profile(|device| run(device, 640))?.total();
    let counted = (total.shared().requests, total.barriers);
    assert_eq!(counted, (0, 0), "accesses of shared memory, and barriers");
    Ok(())
}
