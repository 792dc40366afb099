//! Kernels in rust-cuda's form: `shared_array!`, `thread::sync_threads`, raw pointers.
//!
//! Each computes what the safe kernel of its name without `_raw` does, with the same loads, stores
//! and barriers; the two stand side by side in every bench and test. Start here when you move over
//! from rust-cuda or CUDA C++.
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
