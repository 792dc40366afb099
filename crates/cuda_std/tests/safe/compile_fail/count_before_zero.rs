//! The bins are counted after the barrier that follows the zeros.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let mut bins = tile.zeroed(block);
    bins.add(3, 1);
    let _ = block.sync_threads(bins);
}

fn main() {}
