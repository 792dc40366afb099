//! There is one handle of an array.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let twin = tile.clone();
    let _ = block.sync_threads((tile.write(block, |i| i as u32), twin.write(block, |_| 0)));
}

fn main() {}
