//! Safe code cannot promise that a value is uniform.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>) {
    if cuda_std::uniform::assume_block_uniform(block.thread() as u32) < 32 {
        block.sync_threads(());
    }
}

fn main() {}
