//! The exercises of the book: one file a chapter, each with a `TODO`.
//!
//! `cargo test --test e01_threads` runs the tests of one. They fail until it is solved.

#![cfg_attr(target_arch = "nvptx64", no_std)]

pub mod e01_threads;
pub mod e02_covering;
pub mod e03_barrier;
pub mod e04_dynamic;
pub mod e05_coalescing;
pub mod e06_turning;
pub mod e07_banks;
pub mod e08_tree;
pub mod e09_warps;
pub mod e10_atomics;
pub mod e11_wide_loads;
pub mod e12_halo;
pub mod e13_everyone;
pub mod e14_tiles;
pub mod e15_registers;
pub mod e16_copies;

cuda_std::embedded_kernels!();
