//! A reference into the array would see what is written after the barrier.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let published = block.sync_threads(tile.write(block, |i| i as u32));
    let first = &published[0];
    let tile = block.sync_threads(published);
    let _ = (tile, *first);
}

fn main() {}
