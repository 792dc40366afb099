//! A closure called for each element has the output for itself or not at all.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, output: Out<u32>) {
    let output = &output;
    for place in block.tiles(9) {
        output.store(block, place, |_| 1);
    }
}

fn main() {}
