//! Without `&mut` it can wait for nobody.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &Block<256>) {
    let _ = block;
}

fn main() {}
