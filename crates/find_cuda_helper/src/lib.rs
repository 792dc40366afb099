//! Stands in for the crate `find_cuda_helper`, which cust's build scripts ask for the CUDA toolkit's folders. None are needed:
//! `libcuda_loader` defines the driver's symbols and finds the driver when the first one is called.
//!
//! A workspace that uses cust says so in its root manifest: `[patch.crates-io] find_cuda_helper = { path = "…" }`.

/// Would name the toolkit's folders to the linker. There is nothing to link.
pub fn include_cuda() {}
