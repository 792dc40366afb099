//! Other threads may not have written their elements yet.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let written = tile.write(block, |i| i as u32);
    let neighbour = written[(block.thread() + 1) % 256];
    let _ = neighbour;
}

fn main() {}
