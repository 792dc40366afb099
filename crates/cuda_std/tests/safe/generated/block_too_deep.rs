//! A block has at most 64 threads along z.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<1, 1, 65>) {
    let _ = block;
}

fn main() {}
