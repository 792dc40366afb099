//! A state transition without its barrier is `unsafe`.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, tile: Shared<[u32; 256]>) {
    let written = tile.write(block, |i| i as u32);
    let published = cuda_std::block::Phase::next(written);
    let _ = published;
}

fn main() {}
