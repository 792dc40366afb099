//! A warp borrows its block until its last use.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let warp = block.warp();
    block.sync_threads(());
    let _ = (warp.lane(), tile);
}

fn main() {}
