//! Shared memory lives as long as its block: `'static` is too long.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<'static, [u32; 256]>) {
    let _ = (block, tile);
}

fn main() {}
