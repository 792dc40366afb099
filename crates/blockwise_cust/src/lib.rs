//! The crate `cust` under its own name, for programs that were written for rust-cuda.
//!
//! `cust` alone leaves the driver's functions to the linker, which needs a CUDA toolkit's or the
//! driver's library. This crate adds [`libcuda_loader`], which defines them. A manifest puts it in
//! the place of `cust`, by `package = "blockwise_cust"`, and the sources keep saying `cust::`;
//! `blockwise init --from-rust-cuda` writes that line.

pub use cust::*;
// Linked for its symbols.
use libcuda_loader as _;
