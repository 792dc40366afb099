//! A closure that captures a written array can be called only once.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let written = tile.write(block, |i| i as u32);
    let publish = |block: &mut Block<256>| block.sync_threads(written);
    let _ = (publish(block), publish(block));
}

fn main() {}
