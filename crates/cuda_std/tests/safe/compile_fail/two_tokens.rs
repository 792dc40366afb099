//! A kernel takes one token, which stands for all threads of its block.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(a: &mut Block<256>, b: &mut Block<256>) {
    let _ = (a, b);
}

fn main() {}
