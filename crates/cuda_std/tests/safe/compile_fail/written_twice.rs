//! A written array cannot be written again before its barrier.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let first = tile.write(block, |i| i as u32);
    let second = tile.write(block, |i| 2 * i as u32);
    let _ = block.sync_threads((first, second));
}

fn main() {}
