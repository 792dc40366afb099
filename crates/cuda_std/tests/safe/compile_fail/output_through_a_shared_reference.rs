//! `store` needs `&mut Out`: a closure that it calls cannot use the output too.
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
