//! A size for no array.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel(shared(tile = 256))]
pub fn wrong(block: &mut Block) {
    let _ = block;
}

fn main() {}
