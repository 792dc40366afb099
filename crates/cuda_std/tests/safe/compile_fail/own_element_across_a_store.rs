//! A reference to a thread's own element keeps the output borrowed.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, mut output: Out<u32>) {
    let first = output.mine().next();
    for place in block.tiles(9) {
        output.store(block, place, |_| 1);
    }
    if let Some((_, element)) = first {
        *element = 2;
    }
}

fn main() {}
