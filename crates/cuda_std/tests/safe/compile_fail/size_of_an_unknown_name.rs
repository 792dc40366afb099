//! A size is computed from the launch's parameters.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel(shared(tile = taps.len()))]
pub fn wrong(block: &mut Block, tile: Shared<[f32]>) {
    let _ = (block, tile);
}

fn main() {}
