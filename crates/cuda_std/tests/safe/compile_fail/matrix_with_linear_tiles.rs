//! A matrix has rows and columns.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<16, 16>, mut c: OutMatrix<f32, 16, 16>) {
    for place in block.tiles(c.rows()) {
        c.store(block, place, place, |_| 0.0);
    }
}

fn main() {}
