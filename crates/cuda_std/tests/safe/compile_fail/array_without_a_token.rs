//! Without the token nothing can be done with an array.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(tile: Shared<[u32; 256]>) {
    let _ = tile;
}

fn main() {}
