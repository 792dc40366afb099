//! An output with one element per block is not stored by tiles.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, mut output: Out<u32, PerBlock>) {
    for place in block.tiles(output.len()) {
        output.store(block, place, |_| 1);
    }
}

fn main() {}
