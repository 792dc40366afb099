//! The states of an array in a loop, an output, and a launch: the right way to everything in `compile_fail`.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel(require(input.len() == output.len()))]
pub fn right(block: &mut Block<256>, mut tile: Shared<[u32; 256]>, input: &[u32], mut output: Out<u32>) {
    for place in block.tiles(output.len()) {
        let written = tile.write(block, |i| input.get(place.start() + i).copied().unwrap_or_default());
        let published = block.sync_threads(written);
        output.store(block, place, |i| published[255 - i % 256]);
        tile = block.sync_threads(published);
    }
}

fn main() {}
