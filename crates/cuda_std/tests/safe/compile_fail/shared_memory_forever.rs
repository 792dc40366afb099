//! The array lives as long as its block.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<'static, [u32; 256]>) {
    let _ = (block, tile);
}

fn main() {}
