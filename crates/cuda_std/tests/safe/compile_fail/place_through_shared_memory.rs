//! A tile of the grid belongs to the block that got it.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[TileRange<cuda_std::block::Linear>; 256]>, mut output: Out<u32>) {
    for place in block.tiles(output.len()) {
        let written = tile.write(block, |_| place);
        let published = block.sync_threads(written);
        output.store(block, published[0], |_| 1);
    }
}

fn main() {}
