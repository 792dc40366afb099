//! A `shared` size needs a parameter of that name.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel(shared(tile = 256))]
pub fn wrong(block: &mut Block) {
    let _ = block;
}

fn main() {}
