//! The closure of `write` may not contain a barrier.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let written = tile.write(block, |i| {
        block.sync_threads(());
        i as u32
    });
    let _ = block.sync_threads(written);
}

fn main() {}
