//! A size is a `usize`.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel(shared(tile = 1.5))]
pub fn wrong(block: &mut Block, tile: Shared<[f32]>) {
    let _ = (block, tile);
}

fn main() {}
