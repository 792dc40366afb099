//! Kernels that allocate and panic; `tests/tests/device_heap.rs` and `device_panics.rs` launch
//! them.
//!
//! What a kernel does lies in ordinary functions, which the host calls too: its `format!` and its
//! panics are the oracle.
//!
//! # Safety
//! All kernels: `out` holds (threads in the grid) × (columns the kernel names) elements, and the
//! grid is one-dimensional.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![allow(
    clippy::missing_safety_doc,
    reason = "the crate's documentation states it once"
)]

#[cfg(target_arch = "nvptx64")]
extern crate alloc;
#[cfg(not(target_arch = "nvptx64"))]
extern crate std as alloc;

pub mod failing;
pub mod heap;
