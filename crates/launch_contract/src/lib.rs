//! What a kernel and the host that launches it agree on.
//!
//! [`launch`] is the contract of a launch, [`panic`] how a panic reaches the host, [`Type`] names
//! the types of elements. Nothing here knows a device or a runtime: `cuda_std` re-exports it for
//! kernels, and runtimes implement [`launch::Target`].

#![no_std]

#[cfg(not(target_arch = "nvptx64"))]
extern crate alloc;

pub mod launch;
pub mod panic;
mod ty;

pub use ty::{Type, UnknownType};
