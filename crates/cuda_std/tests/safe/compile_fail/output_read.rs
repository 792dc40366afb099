//! An output is written; a thread's own old values come from `mine`.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, mut output: Out<u32>) {
    let before = output[block.thread()];
    let _ = before;
}

fn main() {}
