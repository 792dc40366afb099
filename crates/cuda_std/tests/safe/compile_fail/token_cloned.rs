//! One token for each thread.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let mut twin = block.clone();
    twin.sync_threads(());
    let _ = tile;
}

fn main() {}
