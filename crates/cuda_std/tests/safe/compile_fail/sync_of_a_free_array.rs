//! A barrier publishes only what was written.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let published = block.sync_threads(tile);
    let _ = published;
}

fn main() {}
