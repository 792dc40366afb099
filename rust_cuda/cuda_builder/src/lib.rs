//! The package `blockwise_builder` by the name that it has in rust-cuda; see `cuda_std` beside it.

pub use ::cuda_builder::*;
