//! After the barrier the array is free to be written again, so it cannot be read.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let published = block.sync_threads(tile.write(block, |i| i as u32));
    let tile = block.sync_threads(published);
    let late = published[0];
    let _ = (tile, late);
}

fn main() {}
