//! A closure that computes elements cannot append with a barrier inside.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn append(
    block: &mut Block<256>,
    mut scratch: Scratch<u64>,
    x: &[f32],
    mut kept: Append<f32>,
    mut y: Out<f32>,
) {
    for tile in block.tiles(x.len()) {
        y.store(block, tile, |i| {
            kept.store(block, &mut scratch, tile, |i| x.get(i).copied(), Some);
            x[i]
        });
    }
}

fn main() {}
