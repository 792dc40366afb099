//! A reduction is a barrier, which a closure of `fill` must not contain.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>, mut scratch: Scratch<u32>) {
    let mut tile = tile.refill();
    tile.fill(block, |i| scratch.reduce(block, i as u32, |a, b| a + b));
}

fn main() {}
