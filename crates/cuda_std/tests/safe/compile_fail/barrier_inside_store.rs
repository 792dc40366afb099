//! The closure of `store` may not contain a barrier.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, mut output: Out<u32>) {
    for place in block.tiles(output.len()) {
        output.store(block, place, |_| block.sync_threads_count(true) as u32);
    }
}

fn main() {}
