//! A safe kernel for each part of `cuda_std::block`. `tests/tests/safe_kernels` launches them under
//! all detectors.
//!
//! Most are generic in the block's extents, with instances from 1 to 1024 threads in one to three
//! dimensions. An extent of 0 is `ANY`: the launch chooses it. All are right for any grid.

#![forbid(unsafe_code)]
#![cfg_attr(target_arch = "nvptx64", no_std)]

pub mod arrays;
pub mod atomics;
pub mod exclusive;
pub mod outputs;
pub mod positions;
pub mod scratch;
pub mod sizes;
pub mod slots;
pub mod warps;

cuda_std::embedded_kernels!();
