//! An array that is published for some threads and free for others.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let written = tile.write(block, |i| i as u32);
    let state = if block.thread() < 32 { block.sync_threads(written) } else { written };
    let _ = state;
}

fn main() {}
