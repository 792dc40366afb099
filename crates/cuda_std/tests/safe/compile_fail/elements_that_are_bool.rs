//! Shared memory that a panicked thread left unwritten may hold any bits.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[bool; 256]>) {
    let _ = (block, tile);
}

fn main() {}
