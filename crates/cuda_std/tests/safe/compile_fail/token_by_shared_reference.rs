//! A barrier needs the token by `&mut`.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &Block<256>) {
    let _ = block;
}

fn main() {}
