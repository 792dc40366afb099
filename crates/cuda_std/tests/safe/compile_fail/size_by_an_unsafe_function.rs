//! An expression in a macro's argument is as safe as any other.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel(shared(tile = core::hint::unreachable_unchecked()))]
pub fn wrong(block: &mut Block, tile: Shared<[f32]>) {
    let _ = (block, tile);
}

fn main() {}
