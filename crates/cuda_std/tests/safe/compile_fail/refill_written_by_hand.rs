//! An array for loops is written by `fill`.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let tile = tile.refill();
    let _ = block.sync_threads(tile.write(block, |i| i as u32));
}

fn main() {}
