//! Every round of a tree is a barrier.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let mut slots = tile.slots(block, 1);
    slots.fold_halves(|a, b| a + b);
}

fn main() {}
