//! GPU kernels and the functions that launch them, in one crate.
//!
//! It is compiled twice: for the host, and for `nvptx64`, the device. Host-only code is marked
//! `#[cfg(not(target_arch = "nvptx64"))]`.

#![cfg_attr(target_arch = "nvptx64", no_std)]

pub mod kernels;

cuda_std::embedded_kernels!();
