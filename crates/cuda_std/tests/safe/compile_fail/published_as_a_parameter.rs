//! A kernel's array parameter is `Shared`, not a later state.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Published<[u32; 256]>) {
    let _ = (block, tile);
}

fn main() {}
