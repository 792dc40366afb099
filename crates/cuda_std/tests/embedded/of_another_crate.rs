//! Another crate's PTX: its kernels of the same names have other bodies and other rules.
#![forbid(unsafe_code)]

use cuda_std::prelude::*;

// What another crate's `EmbeddedKernels` would be: a type that is not of this crate.
pub use cuda_std::launch::Kernels as EmbeddedKernels;

#[kernel]
pub fn copy(x: &[f32], y: Out<f32>) {
    let _ = (x, y);
}

fn main() {}
