//! A block has at most 1024 threads.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<33, 32>) {
    let _ = block;
}

fn main() {}
