//! Two sizes for one array.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel(shared(tile = 256, tile = 512))]
pub fn wrong(block: &mut Block, tile: Shared<[f32]>) {
    let _ = (block, tile);
}

fn main() {}
