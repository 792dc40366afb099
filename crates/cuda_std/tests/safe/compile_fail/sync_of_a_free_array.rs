//! A barrier publishes what was written, not what was not.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let published = block.sync_threads(tile);
    let _ = published;
}

fn main() {}
