//! Readers could write through a cell.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[core::cell::Cell<u32>; 256]>) {
    let _ = (block, tile);
}

fn main() {}
