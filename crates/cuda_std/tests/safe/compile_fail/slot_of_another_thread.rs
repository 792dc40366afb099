//! A thread reads its own slot; `fold_halves` the others.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let slots = tile.slots(block, 1);
    let _ = slots[(block.thread() + 1) % 256];
}

fn main() {}
