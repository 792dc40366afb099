//! An expression for a `shared` size is checked as safe code.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel(shared(tile = core::hint::unreachable_unchecked()))]
pub fn wrong(block: &mut Block, tile: Shared<[f32]>) {
    let _ = (block, tile);
}

fn main() {}
