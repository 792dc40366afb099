//! Kernels with one deliberate mistake each, run only by `cargo xtask pitfalls` and the tests.
//!
//! Most are the twin of a sound kernel in the crate `kernels`, with a mistake that a tutorial on
//! shared memory makes or warns of. Each file's header states the mistake, its effect on a GPU
//! (often nothing noticeable) and the emulator's report.
//!
//! | kernel | mistake | on the emulator |
//! | --- | --- | --- |
//! | [`matmul_missing_barrier`] | the next tile is loaded while other threads still read this one | races on shared memory |
//! | [`dot_missing_barrier`] | the rounds of the tree are not separated | races on shared memory |
//! | [`reverse_missing_barrier`] | slots are read before they are written | races on shared memory |
//! | [`conv1d_early_return`] | threads return before a barrier | divergent barrier |
//! | [`reverse_shared_too_small`] | fewer slots than threads | out of bounds, shared memory |
//! | [`conv1d_halo_off_by_one`] | the halo's loop runs once too often | out of bounds, shared memory |
//! | [`copy_off_by_one`] | the last guard has `<=` | out of bounds, global memory |
//! | [`load_misaligned`] | a vector load from an odd element | misaligned access |
//! | [`conv1d_halo_not_loaded`] | no thread loads the halo | uninitialised shared memory |
//! | [`matmul_accumulates`] | the sum begins with what C holds | uninitialised global memory |
//! | [`sum_unwritten_partials`] | 32 partial results are added, fewer were written | uninitialised global memory |
//! | [`sum_barrier_in_branch`] | a barrier inside a branch | divergent barrier |
//! | [`sum_shuffle_wrong_mask`] | half a warp shuffles with a full mask | invalid member mask |
//! | [`named_barrier_wrong_count`] | a barrier for a part of a warp | invalid operand |
//! | [`sum_warp_without_sync`] | a warp relies on lockstep | races within a warp, as warnings |
//! | [`reverse_copy_too_early`] | an asynchronous copy is not waited for | a read before the copy |
//! | [`sum_blocks_race`] | blocks add to one total without an atomic | a race on global memory |
//! | [`matmul_uncovered_grid`] | right only if the grid covers C | a note: elements of C that no thread wrote |
//!
//! # Safety
//! There is none: that is the point. On a GPU these kernels access memory that is not theirs, or
//! may hang.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch))]

pub mod conv1d_early_return;
pub mod conv1d_halo_not_loaded;
pub mod conv1d_halo_off_by_one;
pub mod copy_off_by_one;
pub mod dot_missing_barrier;
pub mod load_misaligned;
pub mod matmul_accumulates;
pub mod matmul_missing_barrier;
pub mod matmul_uncovered_grid;
pub mod named_barrier_wrong_count;
pub mod reverse_copy_too_early;
pub mod reverse_missing_barrier;
pub mod reverse_shared_too_small;
pub mod sum_barrier_in_branch;
pub mod sum_blocks_race;
pub mod sum_shuffle_wrong_mask;
pub mod sum_unwritten_partials;
pub mod sum_warp_without_sync;

pub use reverse_shared_too_small::SLOTS;

/// Threads per block of the one-dimensional kernels.
pub const THREADS: u32 = 256;

/// Side of the square tiles and blocks of the matrix products.
pub const TILE: u32 = 16;
