//! A view cannot outlive the published state that it borrows.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

pub fn publish<'s>(block: &mut Block<256>, tile: Shared<'s, [u32; 256]>) -> &'s [u32; 256] {
    let published = block.sync_threads(tile.write(block, |i| i as u32));
    &published
}

fn main() {}
