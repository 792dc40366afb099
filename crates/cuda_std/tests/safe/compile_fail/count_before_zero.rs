//! Counters can be added to only after the barrier that ends the zeroing.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let mut bins = tile.zeroed(block);
    bins.add(3, 1);
    let _ = block.sync_threads(bins);
}

fn main() {}
