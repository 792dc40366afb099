//! A scatter is a handle of one thread: a kernel takes it by value.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn scatter(y: &Scatter<f32>) {
    let _ = y;
}

fn main() {}
