//! The state after a barrier is another type.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let tile: Shared<[u32; 256]> = block.sync_threads(tile.write(block, |i| i as u32));
    let _ = tile;
}

fn main() {}
