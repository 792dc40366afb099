//! Tiles of no elements never end.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<16, 16>) {
    for _ in block.tiles_x::<0>(100) {}
}

fn main() {}
