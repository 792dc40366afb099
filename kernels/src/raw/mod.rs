//! Kernels in rust-cuda's style: `shared_array!`, `thread::sync_threads`, raw pointers.
//!
//! Each computes the same as the safe kernel of its name without `_raw`, with the same loads,
//! stores and barriers; every benchmark and test runs both. Start here when moving over from
//! rust-cuda or CUDA C++.
//!
//! | here | the safe form |
//! | --- | --- |
//! | [`reverse`] | [`reverse::fixed`](crate::reverse::fixed), [`dynamic`](crate::reverse::dynamic) |
//! | [`transpose`] | [`transpose::padded`](crate::transpose::padded) |
//! | [`matmul`] | [`matmul::tiled`](crate::matmul::tiled) |
//! | [`reduce`] | [`reduce::tree`](crate::reduce::tree) |
//! | [`conv1d`] | [`conv1d::tiled`](crate::conv1d::tiled), [`block_per_output`](crate::conv1d::block_per_output) |

pub mod conv1d;
pub mod matmul;
pub mod reduce;
pub mod reverse;
pub mod transpose;
