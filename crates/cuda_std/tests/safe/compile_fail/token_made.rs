//! The entry point makes the token.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let mut mine = Block::<256>::new();
    mine.sync_threads(());
    let _ = (block, tile);
}

fn main() {}
