//! GPU kernels and the functions that launch them, in one crate.
//!
//! It is compiled twice: for the host, and as `nvptx64` for the device. What only the host can do is
//! marked `#[cfg(not(target_arch = "nvptx64"))]`.

#![cfg_attr(target_arch = "nvptx64", no_std)]

pub mod kernels;

cuda_std::embedded_kernels!();
