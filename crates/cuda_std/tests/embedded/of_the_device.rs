#![forbid(unsafe_code, missing_docs, warnings)]
//! Sound for the host.

cuda_std::embedded_kernels!();

fn main() {}
