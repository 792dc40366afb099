//! Reverse without shared memory, with several loads in flight per thread.
//!
//! Change from [`fixed`](super::fixed): 32 adjacent elements are adjacent at the mirrored position
//! too, and the hardware coalesces a warp's accesses in any order, so threads have nothing to
//! exchange. To keep memory busy, a thread loads [`ITEMS`] elements before it stores the first.
//!
//! - Stores: thread t has elements t, t + block, … of a run: a warp writes 32 adjacent elements
//!   (coalesced).
//! - Loads: each from its mirrored position: coalesced too, in descending order.
//!
//! 2²⁸ `u32` on an H200 (driver 580.159, 2026-11-22), medians of 30 in one process with a copy of
//! that size:
//!
//! | items | share of the copy's bandwidth | with 8 persistent blocks per multiprocessor |
//! | --- | --- | --- |
//! | **4** | **1.00** | 0.89 |
//! | 8 | 0.98 | 0.85 |
//! | 16 | 0.99 | 0.88 |
//!
//! `static` and `dynamic` reach 0.55 there, and PyTorch's `flip` 0.73.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

use crate::number::Word;

/// Elements that a thread loads before its first store.
pub const ITEMS: usize = 4;

/// output\[n − 1 − i\] = input\[i\], for `input` and `output` of n elements.
///
/// # Launch
/// One-dimensional blocks of any size. The grid strides over runs of block · [`ITEMS`] elements.
#[kernel(instances(u8, u16, u32, u64), require(input.len() == output.len()))]
pub fn reverse_direct<T: Word>(block: &mut Block, input: &[T], mut output: Out<T, Strided<ITEMS>>) {
    // Repeats the launch's rule for the compiler, which then drops the bounds checks.
    if input.len() != output.len() {
        return;
    }
    for run in block.tiles_of(output.len()) {
        let mirrored = |i| input.iter().nth_back(i).copied().unwrap_or_default();
        output.store(block, run, mirrored);
    }
}
