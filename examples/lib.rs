//! A course in GPU programming: one file per example, each with its kernels, the host code that
//! launches them, and tests.
//!
//! The crate is compiled twice: for the device, with the kernels only, and for the host, with the
//! PTX of the first build embedded. `cargo run -p course` lists the examples.

#![cfg_attr(target_arch = "nvptx64", no_std)]

cuda_std::embedded_kernels!();

#[path = "01_first_kernel.rs"]
pub mod first_kernel;

#[path = "02_shared_memory.rs"]
pub mod shared_memory;

#[path = "03_reduction.rs"]
pub mod reduction;

#[path = "04_tiles_2d.rs"]
pub mod tiles_2d;

#[path = "05_streams_and_graphs.rs"]
pub mod streams_and_graphs;

#[path = "06_checking_in_a_test.rs"]
pub mod checking_in_a_test;

#[path = "07_profiling.rs"]
pub mod profiling;

#[path = "08_a_struct_of_your_own.rs"]
pub mod a_struct_of_your_own;

#[path = "09_generic_kernels.rs"]
pub mod generic_kernels;

#[path = "10_choosing_a_block_size.rs"]
pub mod choosing_a_block_size;

#[path = "11_atomics.rs"]
pub mod atomics;

#[path = "12_warps.rs"]
pub mod warps;

#[path = "13_exclusive_elements.rs"]
pub mod exclusive_elements;

#[path = "14_other_libraries.rs"]
pub mod other_libraries;

#[cfg(not(target_arch = "nvptx64"))]
mod contents;
#[cfg(not(target_arch = "nvptx64"))]
mod near;
#[cfg(test)]
mod test_devices;

#[cfg(not(target_arch = "nvptx64"))]
pub use contents::{COURSE, Example};
