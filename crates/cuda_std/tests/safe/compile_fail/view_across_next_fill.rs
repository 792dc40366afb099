//! The second `fill` overwrites what the first returned.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let mut tile = tile.refill();
    let before = tile.fill(block, |i| i as u32);
    let after = tile.fill(block, |i| 2 * i as u32);
    let _ = before[1] + after[1];
}

fn main() {}
