//! A type alias named `Block` with another shape is not the launch's block.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

type Block<const N: usize> = cuda_std::prelude::Block<32, N>;

#[kernel]
pub fn wrong(block: &mut Block<16>, tile: Shared<[u32; 512]>) {
    let _ = (block, tile);
}

fn main() {}
