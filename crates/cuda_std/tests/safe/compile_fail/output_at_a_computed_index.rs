//! Two threads could compute the same index.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, mut output: Out<u32>) {
    output[block.thread() / 2] = 1;
}

fn main() {}
