//! A barrier needs the token by `&mut`, here through a helper that has `&`.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

fn wait(block: &Block<256>) {
    block.sync_threads(());
}

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    wait(block);
    let _ = tile;
}

fn main() {}
