//! The array's type already fixes its size.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel(shared(tile = 256))]
pub fn wrong(block: &mut Block, tile: Shared<[f32; 256]>) {
    let _ = (block, tile);
}

fn main() {}
