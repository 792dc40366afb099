//! The kernel owns its arrays.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: &mut Shared<[u32; 256]>) {
    let _ = (block, tile);
}

fn main() {}
