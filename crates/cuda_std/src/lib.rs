//! Device-side Rust for CUDA kernels on the stock compiler, after the crate of the same name in rust-cuda.
