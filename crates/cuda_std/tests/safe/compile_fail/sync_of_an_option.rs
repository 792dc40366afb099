//! A thread cannot choose whether an array takes part in a barrier.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let mut written = None;
    if block.thread() < 32 {
        written = Some(tile.write(block, |i| i as u32));
    }
    let published = block.sync_threads(written);
    let _ = published;
}

fn main() {}
