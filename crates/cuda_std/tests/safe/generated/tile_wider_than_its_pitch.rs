//! Rows would overlap.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<16, 16>, tile: Shared<Tile<f32, 16, 16, 8>>) {
    let published = block.sync_threads(tile.write(block, |_| 0.0));
    let _ = published[0][0];
}

fn main() {}
