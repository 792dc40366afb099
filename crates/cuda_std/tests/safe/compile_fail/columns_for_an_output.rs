//! Tiles of a width of one's own are not what a linear output is divided by.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, mut output: Out<u32>) {
    for place in block.tiles_x::<128>(output.len()) {
        output.store(block, place, |_| 1);
    }
}

fn main() {}
