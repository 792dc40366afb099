//! A token's type includes the block's shape, which decides who owns an element.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

fn half(block: &mut Block<128>, tile: Shared<'_, [u32; 256]>) {
    let _ = block.sync_threads(tile.write(block, |i| i as u32));
}

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    half(block, tile);
}

fn main() {}
