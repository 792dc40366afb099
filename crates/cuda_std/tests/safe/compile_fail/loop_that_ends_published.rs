//! Each round must end in the state in which it began: the array is free again.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, mut tile: Shared<[u32; 256]>, input: &[u32], mut output: Out<u32>) {
    for place in block.tiles(output.len()) {
        let published = block.sync_threads(tile.write(block, |i| input[place.start() + i]));
        output.store(block, place, |_| published[0]);
        tile = published;
    }
}

fn main() {}
