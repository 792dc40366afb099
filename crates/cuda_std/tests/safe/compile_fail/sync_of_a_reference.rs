//! A barrier takes an array's state by value.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let mut written = tile.write(block, |i| i as u32);
    let _ = block.sync_threads(&mut written);
}

fn main() {}
