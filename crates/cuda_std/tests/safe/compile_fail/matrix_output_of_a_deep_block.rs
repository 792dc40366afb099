//! Threads that differ only in z would store the same element.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<8, 8, 4>, mut c: OutMatrix<f32, 16, 16>) {
    for top in block.tiles_y::<16>(c.rows()) {
        for left in block.tiles_x::<16>(c.cols()) {
            c.store(block, top, left, |_| 0.0);
        }
    }
}

fn main() {}
