//! An output is not cloned: both handles could write the same elements.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, mut output: Out<u32>) {
    let mut second = output.clone();
    for place in block.tiles(9) {
        output.store(block, place, |_| 1);
        second.store(block, place, |_| 2);
    }
}

fn main() {}
