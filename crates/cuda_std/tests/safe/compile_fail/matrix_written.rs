//! An input is only read.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn wrong(block: &mut Block<16, 16>, a: Matrix<f32>) {
    a.row(0)[0] = 1.0;
    let _ = block;
}

fn main() {}
