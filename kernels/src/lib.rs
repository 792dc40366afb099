//! Shared-memory GPU kernels in Rust, built to PTX by the stock compiler.
//!
//! One folder for each family, one file for each idea; a file's header says what it computes, who loads what into which
//! shared slot, what each barrier orders, and what changed from the simpler kernel before it. The constants are for the host
//! too: it computes launches from them.
//!
//! | family | kernels |
//! | --- | --- |
//! | [`conv1d`] | [`block_per_output`](conv1d::block_per_output), [`direct`](conv1d::direct), [`tiled`](conv1d::tiled), [`window`](conv1d::window), [`blocked`](conv1d::blocked) |
//! | [`reduce`] | [`interleaved`](reduce::interleaved), [`tree`](reduce::tree), [`shuffle`](reduce::shuffle), [`wide`](reduce::wide) and [`single`](reduce::single): dot product, sum, min, max |
//! | [`matmul`] | [`naive`](matmul::naive), [`tiled`](matmul::tiled), [`register_tile`](matmul::register_tile), [`pipelined`](matmul::pipelined), [`split`](matmul::split) with [`tensor`](matmul::tensor) |
//! | [`transpose`] | [`naive`](transpose::naive), [`tiled`](transpose::tiled), [`padded`](transpose::padded), [`aligned`](transpose::aligned) |
//! | [`peak`] | [`fma`](peak::fma): not an algorithm, but what the device can do at most |
//! | [`reverse`] | [`fixed`](reverse::fixed), [`dynamic`](reverse::dynamic) |
//!
//! # What every kernel promises
//!
//! - It is right for every grid: work is strided by the grid, so a launch may cap the number of blocks.
//! - It is right for every length, 0 and those above 2³² included: indices are `usize`.
//! - It does the same additions in the same order in every run with the same launch.
//! - It reads nothing outside its inputs, and writes each output element exactly once.
//!
//! # Safety
//!
//! Two rules hold for all kernels and are not repeated: every slice and pointer is device memory of the stated size for the whole
//! launch, and outputs overlap neither inputs nor each other.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch))]

pub mod conv1d;
pub mod matmul;
mod number;
pub mod pack;
pub mod peak;
pub mod reduce;
pub mod reverse;
pub mod transpose;
mod unroll;
