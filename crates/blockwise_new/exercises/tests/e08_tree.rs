//! Exercise 8.

mod common;

use blockwise::{Device, Result};
use my_project::e08_tree::{THREADS, largest_of_blocks};

fn run(device: &Device) -> Result<()> {
    let values: Vec<u32> = (0..3 * THREADS as u32)
        .map(|i| i * 7_919 % 10_007)
        .collect();
    let (x, mut largest) = (device.upload(&values)?, device.zeros::<u32>(3)?);
    let kernel = largest_of_blocks::on(device)?.grid(3).block(THREADS as u32);
    // SAFETY: `largest` is borrowed mutably; on the emulator a race harms nothing but the result.
    unsafe { kernel.launch(&x, &mut largest)? };
    let right: Vec<_> = values
        .chunks(THREADS)
        .filter_map(|block| block.iter().max().copied())
        .collect();
    common::equal(&largest.to_vec()?, &right, "largest of the blocks");
    Ok(())
}

#[test]
fn the_largest_of_each_block_is_found_without_a_race() -> Result<()> {
    run(&Device::checked())
}

#[test]
fn no_bank_conflicts() -> Result<()> {
    let total = common::profile(run)?.total();
    let wavefronts = total.shared().wavefronts_per_request();
    assert_eq!(
        wavefronts,
        Some(1.0),
        "wavefronts per access of shared memory"
    );
    Ok(())
}
