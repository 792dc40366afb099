//! One kernel for each part of `cuda_std`; `tests/tests/device` launches them.
//!
//! Every kernel writes one row of results for each thread. The host computes the same from the
//! documentation of CUDA and of the PTX ISA, not from `cuda_std`.
//!
//! # Safety
//! All kernels: `out` holds (threads in the grid) × (columns the kernel names) elements, and the
//! launch has the shape that the kernel names.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch))]
#![allow(
    clippy::missing_safety_doc,
    reason = "the crate's documentation states it once"
)]

// No module is named like a kernel: its handle would have the same name.
mod arithmetic;
mod barriers;
mod builds;
mod contracts;
mod functions;
mod indices;
mod memory;
pub mod names;
mod of_core;
mod scopes;
mod structs;
mod target;
mod typed;
mod warps;

pub use arithmetic::*;
pub use barriers::*;
pub use builds::*;
pub use contracts::*;
pub use functions::*;
pub use indices::*;
pub use memory::*;
pub use of_core::*;
pub use scopes::*;
pub use structs::*;
pub use target::*;
pub use typed::*;
pub use warps::*;

/// What `docs/upstream.md` says is here, compiled (see `build.rs`).
#[allow(unused_imports, clippy::all, reason = "each line only has to compile")]
mod upstream {
    include!(concat!(env!("OUT_DIR"), "/upstream.rs"));
}

/// The place of column `column` in the row of thread `thread`.
///
/// # Safety
/// `out` holds that element.
#[inline(always)]
unsafe fn put<T>(out: *mut T, thread: u32, columns: u32, column: u32, value: T) {
    let at = thread as usize * columns as usize + column as usize;
    // SAFETY: the caller's promise.
    unsafe { out.add(at).write(value) }
}
