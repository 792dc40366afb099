//! Shared-memory GPU kernels in Rust, built to PTX by the stock compiler.
//!
//! One folder per family, one file per idea. A file's header states what the kernel computes, which
//! thread loads what into which shared slot, what each barrier orders, and the change from the
//! simpler kernel before it. The host uses the constants too, to compute launches.
//!
//! | family | kernels |
//! | --- | --- |
//! | [`conv1d`] | [`block_per_output`](conv1d::block_per_output), [`direct`](conv1d::direct), [`tiled`](conv1d::tiled), [`window`](conv1d::window), [`blocked`](conv1d::blocked), [`rows`](conv1d::rows), [`fft`](conv1d::fft) |
//! | [`reduce`] | [`interleaved`](reduce::interleaved), [`tree`](reduce::tree), [`wide`](reduce::wide) and [`single`](reduce::single): dot product, sum, min, max; [`axis`](reduce::axis): along an axis, and indices |
//! | [`matmul`] | [`naive`](matmul::naive), [`tiled`](matmul::tiled), [`register_tile`](matmul::register_tile), [`pipelined`](matmul::pipelined), [`sliced`](matmul::sliced), [`mma`](matmul::mma), [`direct`](matmul::direct), [`thin`](matmul::thin), [`few_rows`](matmul::few_rows), [`few_cols`](matmul::few_cols), [`narrow`](matmul::narrow), [`short`](matmul::short), [`small`](matmul::small), [`split`](matmul::split) with [`tensor`](matmul::tensor) |
//! | [`transpose`] | [`naive`](transpose::naive), [`tiled`](transpose::tiled), [`padded`](transpose::padded), [`aligned`](transpose::aligned), [`thin`](transpose::thin), [`quads`](transpose::quads), [`packs`](transpose::packs) |
//! | [`reverse`] | [`fixed`](reverse::fixed), [`dynamic`](reverse::dynamic), [`direct`](reverse::direct), [`along`](reverse::along) |
//! | [`scan`] | `scan::scan`, `scan::once::scan_once`: running sums, minima and maxima |
//! | [`raw`] | eight of these in rust-cuda's style: `shared_array!`, `sync_threads`, raw pointers |
//!
//! A kernel for several types is generic, with one entry point per instance: `conv1d_tiled::<f32>`
//! is `conv1d_tiled_f32` in the PTX, `fold_wide::<i64, Sum>` is `sum_wide_i64`. The host launches
//! it through its handle, a type of the same name, which refuses launches that break a rule the
//! host can check. The build script builds the PTX and embeds it in this crate.
//!
//! # What every kernel promises
//!
//! - It is correct for every grid: work is strided by the grid, so a launch may cap the number of
//!   blocks.
//! - It is correct for every length, including 0 and those above 2³²: indices are `usize`.
//! - It performs the same additions in the same order in every run with the same launch.
//! - It reads nothing outside its inputs, and writes each output element exactly once.
//!
//! # Safety
//!
//! These kernels and their launches are safe; their files have `#![forbid(unsafe_code)]`:
//!
//! - `block_per_output`, `direct` and `tiled` of [`conv1d`]
//! - `interleaved` and `tree` of [`reduce`]
//! - `naive`, `tiled` and `register_tile` of [`matmul`]
//! - `naive`, `tiled` and `padded` of [`transpose`]
//! - all of [`reverse`]
//!
//! The faster ones use `unsafe` for what [`cuda_std::block`] does not offer: 16-byte packs,
//! asynchronous copies, tensor cores, blocks that wait for each other. [`raw`] writes through raw
//! pointers.
//!
//! Two rules hold for every `unsafe` kernel and are not repeated: each slice and pointer is device
//! memory of the stated size for the whole launch, and outputs overlap neither inputs nor each
//! other.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch))]

pub mod conv1d;
mod here;
pub mod matmul;
pub mod number;
pub mod pack;
pub mod raw;
pub mod reduce;
pub mod reverse;
pub mod scan;
pub mod transpose;

cuda_std::embedded_kernels!();

#[cfg(test)]
mod tests {
    use crate::conv1d::tiled::conv1d_tiled;
    use crate::matmul::pipelined::matmul_pipelined_f32;
    use crate::reduce::single::{dot_single, fold_single};
    use crate::reduce::wide::fold_wide;
    use crate::reduce::{Extreme, Sum};
    use crate::transpose::thin::transpose_thin;

    #[test]
    fn an_instance_is_the_embedded_entry_point_of_its_name() {
        for (entry, name) in [
            (conv1d_tiled::<f64>::entry(), "conv1d_tiled_f64"),
            (dot_single::<f32>::entry(), "dot_single_f32"),
            (fold_single::<f32, Extreme>::entry(), "extreme_single_f32"),
            (fold_wide::<i64, Sum>::entry(), "sum_wide_i64"),
            (matmul_pipelined_f32::entry(), "matmul_pipelined_f32"),
            (transpose_thin::<u32>::entry(), "transpose_thin_u32"),
        ] {
            assert_eq!(entry.name, name);
            let head = format!(".entry {name}(");
            for file in entry.kernels.expect("embedded").files {
                let there = file.text().expect("as it was built").contains(&head);
                assert_eq!(there, file.has(name), "{name}, {}", file.arch);
            }
        }
    }
}
