//! An enum has bit patterns that are not values.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[Option<u32>; 256]>) {
    let _ = (block, tile);
}

fn main() {}
