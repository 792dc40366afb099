//! A token cannot be built from its fields.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let mut mine: Block<256> = Block(core::marker::PhantomData);
    mine.sync_threads(());
    let _ = (block, tile);
}

fn main() {}
