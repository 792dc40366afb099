//! Other threads cannot follow a reference to this thread's stack.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong<'a>(block: &mut Block<256>, tile: Shared<[&'a u32; 256]>) {
    let _ = (block, tile);
}

fn main() {}
