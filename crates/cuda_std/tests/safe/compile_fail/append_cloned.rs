//! Each thread has one handle, so an append handle is not cloned.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn append(kept: Append<f32>) {
    let (mut one, mut other) = (kept.clone(), kept);
    one.push(1.0);
    other.push(2.0);
}

fn main() {}
