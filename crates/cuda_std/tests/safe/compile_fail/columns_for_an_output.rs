//! A linear output is stored by the tiles of `tiles`, not by those of `tiles_x`.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, mut output: Out<u32>) {
    for place in block.tiles_x::<128>(output.len()) {
        output.store(block, place, |_| 1);
    }
}

fn main() {}
