//! A user's type named `Block` is not the library's.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

struct Block<const N: usize>;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let _ = (block, tile);
}

fn main() {}
