//! The package `blockwise_std_macros` by the name that it has in rust-cuda; see `cuda_std` beside
//! it.

#![no_std]

pub use ::cuda_std_macros::*;
