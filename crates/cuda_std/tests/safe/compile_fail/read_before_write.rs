//! Shared memory has no values when a block starts.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let first = tile[0];
    let _ = (block, first);
}

fn main() {}
