//! Only a launch brings an array and its count together.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

#[kernel]
pub fn append(kept: Append<f32>, mut counts: Append<u64>) {
    let Some((_, count)) = counts.reserve(1) else { return };
    let _ = Append::new(&(), core::ptr::null_mut::<f32>(), kept.len(), &raw mut count[0]);
}

fn main() {}
