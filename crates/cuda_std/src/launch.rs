//! The contract between a kernel and its launch: parameter types with the same layout on both
//! sides, and the signature record embedded in the PTX.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// Each output is the sum of `taps.len()` samples, times the taps.
//! #[kernel(shared(tile = block.threads() + taps.len() - 1), require(!taps.is_empty()))]
//! pub fn filter(
//!     block: &mut Block,
//!     tile: Shared<[f32]>,
//!     signal: &[f32],
//!     taps: &[f32],
//!     mut output: Out<f32>,
//! ) {
//!     let mut tile = tile.refill();
//!     for place in block.tiles(output.len()) {
//!         // Between two barriers, all threads of the block load the samples that they share.
//!         let span = tile.fill(block, |i| signal.get(place.start() + i).copied().unwrap_or(0.0));
//!         output.store(block, place, |at| {
//!             let first = at - place.start();
//!             (0..taps.len()).map(|k| taps[k] * span[first + k]).sum()
//!         });
//!     }
//! }
//!
//! // On the host: `filter::on(&device)?.grid(64).block(256).launch(&signal, &taps, &mut output)?`.
//! assert_eq!(
//!     filter::entry().signature,
//!     "block: &mut Block<0,1,1>, tile: Shared<[f32]>, signal: &[f32], taps: &[f32], \
//!      output: Out<f32>"
//! );
//! ```
//!
//! Before anything starts, a launch checks the block against the kernel's `&mut Block<..>`, the
//! sizes of matrices, the outputs' requirements on the grid, the kernel's `require(..)`, and that
//! its dynamic shared arrays have a size. A failed check is a [`Refusal`].
//!
//! `#[kernel]` generates code against this module; on the host a runtime implements [`Target`], and
//! its memory [`Read`] and [`Write`]. The module depends on no runtime.

pub use launch_contract::launch::*;

use crate::gpu_only;

/// Waits until the launch before this one in its stream has ended and its writes can be read: a
/// launch of a kernel with `starts_early` may start before. PTX for devices below compute capability
/// 9.0 has no such launches, and nothing to wait for.
#[doc(hidden)]
#[gpu_only]
#[inline(always)]
pub fn wait_for_earlier() {
    // SAFETY: without `nomem`, no access to memory moves over it.
    #[cfg(target_feature = "compute_90")]
    unsafe {
        core::arch::asm!("griddepcontrol.wait;", options(nostack));
    }
}

/// The memory of a dynamic shared array of `len` elements, in a kernel.
///
/// # Safety
/// The launch placed the same arrays in the same order.
#[doc(hidden)]
#[inline(always)]
pub unsafe fn dynamic_array<T>(arrays: &mut DynamicShared, len: usize) -> *mut [T] {
    // SAFETY: it was `Some` when the launch placed the arrays.
    let offset = unsafe { arrays.place::<T>(len).unwrap_unchecked() };
    let first = crate::shared::dynamic_shared_mem::<T>();
    core::ptr::slice_from_raw_parts_mut(first.wrapping_byte_add(offset), len)
}
