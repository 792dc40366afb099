//! A tile's range comes only from `tiles`.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<256>, mut output: Out<u32>) {
    let place = TileRange::<cuda_std::block::Linear> { start: 0 };
    output.store(block, place, |_| 1);
}

fn main() {}
