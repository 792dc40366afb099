//! A published array is read-only.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let published = block.sync_threads(tile.write(block, |i| i as u32));
    published[block.thread() + 1] = 5;
}

fn main() {}
