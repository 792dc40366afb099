//! Kernels with one deliberate mistake each. No command runs them but `cargo xtask pitfalls` and the tests.
//!
//! Each is the twin of a sound kernel of the crate `kernels`, with the same parameters, and each makes a mistake that a tutorial on shared
//! memory makes or warns of. A file's header says what the mistake is, what a GPU does with it (often nothing that one would
//! notice) and what the emulator reports.
//!
//! | kernel | mistake | on the emulator |
//! | --- | --- | --- |
//! | [`matmul_missing_barrier`](matmul_missing_barrier()) | the next tile is loaded while others still read this one | a race, for the race detector |
//! | [`dot_missing_barrier`](dot_missing_barrier()) | the rounds of the tree are not separated | a race, for the race detector |
//! | [`reverse_missing_barrier`](reverse_missing_barrier()) | slots are read before they are written | a race, for the race detector |
//! | [`conv1d_early_return`](conv1d_early_return()) | threads return before a barrier | divergent barrier |
//! | [`reverse_shared_too_small`](reverse_shared_too_small()) | fewer slots than threads | out of bounds, shared memory |
//! | [`conv1d_halo_off_by_one`](conv1d_halo_off_by_one()) | the halo's loop runs once too often | out of bounds, shared memory |
//! | [`matmul_uncovered_grid`](matmul_uncovered_grid()) | right only if the grid covers C | nothing; C keeps elements that nobody wrote |
//!
//! # Safety
//! There is none: that is the point. On a GPU these kernels read and write memory that is not theirs, or may hang.

#![cfg_attr(target_arch = "nvptx64", no_std)]

mod conv1d_early_return;
mod conv1d_halo_off_by_one;
mod dot_missing_barrier;
mod matmul_missing_barrier;
mod matmul_uncovered_grid;
mod reverse_missing_barrier;
mod reverse_shared_too_small;

pub use conv1d_early_return::conv1d_early_return;
pub use conv1d_halo_off_by_one::conv1d_halo_off_by_one;
pub use dot_missing_barrier::dot_missing_barrier;
pub use matmul_missing_barrier::matmul_missing_barrier;
pub use matmul_uncovered_grid::matmul_uncovered_grid;
pub use reverse_missing_barrier::reverse_missing_barrier;
pub use reverse_shared_too_small::{SLOTS, reverse_shared_too_small};

/// Threads of a block, for the one-dimensional kernels.
pub const THREADS: u32 = 256;

/// Side of the square tiles and blocks of the matrix products.
pub const TILE: u32 = 16;
