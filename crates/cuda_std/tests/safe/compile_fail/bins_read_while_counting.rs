//! Counters can be read only after the barrier that ends the counting.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let mut bins = block.sync_threads(tile.zeroed(block));
    bins.add(3, 1);
    let _ = bins[3];
}

fn main() {}
