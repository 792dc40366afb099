//! Replaces the crate `find_cuda_helper`, which cust's build scripts query for the CUDA toolkit's
//! folders. None are needed: `libcuda_loader` defines the driver's symbols and finds the driver on
//! the first call.
//!
//! A workspace that uses cust declares it in its root manifest: `[patch.crates-io] find_cuda_helper
//! = { path = "…" }`.

/// Would pass the toolkit's folders to the linker. There is nothing to link.
pub fn include_cuda() {}
