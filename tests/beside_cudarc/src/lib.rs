//! A program on cudarc beside Blockwise: one context, either's memory, either's stream, no copy.

#![cfg_attr(target_arch = "nvptx64", no_std)]

use cuda_std::prelude::*;

cuda_std::embedded_kernels!();

/// y = a x + y. Any grid.
#[kernel(require(x.len() == y.len()))]
pub fn axpy(a: f32, x: &[f32], mut y: Out<f32>) {
    for (i, y) in y.mine() {
        *y += a * x[i];
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub mod host;
