//! Nothing of its own: the crates in `crates`, so that one call of `cuda_builder` makes one PTX
//! file of all their kernels.
//!
//! Each of them is a kernel crate as a user of rust-cuda writes it, for one area of `cuda_std` or
//! of Rust, outside of this workspace; it builds by itself too. `tests/tests/kernel_crates`
//! launches them.
