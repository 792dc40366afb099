//! The launch makes a scatter for each thread.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn scatter(y: &Scatter<f32>) {
    let _ = y;
}

fn main() {}
