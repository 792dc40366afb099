//! A type of the user's under the library's name.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

struct Block<const N: usize>;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let _ = (block, tile);
}

fn main() {}
