//! Scratch memory has no elements: only the block's operations use it.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, scratch: Scratch<u32>) {
    let _ = (block, scratch[0]);
}

fn main() {}
