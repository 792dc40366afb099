//! Reversal without shared memory, several loads under way in each thread.
//!
//! Change from [`fixed`](super::fixed): the 32 neighbours that a warp loads are neighbours at the mirrored place too, and the hardware joins a
//! warp's accesses in whatever order they come, so that threads have nothing to exchange, and nothing to wait for. Memory is kept busy by a thread
//! that asks for [`ITEMS`] elements before it stores the first.
//!
//! - Loads: thread t loads elements t, t + block, …: a warp reads 32 neighbours (coalesced).
//! - Stores: each to its mirrored place: coalesced as well, backwards.
//!
//! 2²⁸ `u32` on an H200 (driver 580.159, 2026-11-22), medians of 30 in one process with a copy of that size:
//!
//! | items | share of the copy's bandwidth | with 8 blocks a multiprocessor that stay |
//! | --- | --- | --- |
//! | **4** | **1.00** | 0.89 |
//! | 8 | 0.98 | 0.85 |
//! | 16 | 0.99 | 0.88 |
//!
//! `static` and `dynamic` reach 0.55 there, and PyTorch's `flip` 0.73.

use cuda_std::prelude::*;

use crate::number::Word;
use crate::unroll::unrolled;

/// Elements that a thread moves at once.
pub const ITEMS: usize = 4;

/// output\[n − 1 − i\] = input\[i\], for `input` and `output` of n elements.
///
/// # Launch
/// One-dimensional, any block. The grid strides over runs of block · [`ITEMS`] elements.
///
/// # Safety
/// The crate's rules; `output` has n elements.
#[kernel(
    instances(u32, u64),
    require(output.len() == input.len(), [grid.y, grid.z, block.y, block.z] == [1; 4])
)]
pub unsafe fn reverse_direct<T: Word>(input: &[T], output: *mut T) {
    let n = input.len();
    let threads = thread::block_dim_x() as usize;
    let mut first = thread::block_idx_x() as usize * threads * ITEMS;
    while first < n {
        let at = |i: usize| first + thread::thread_idx_x() as usize + i * threads;
        let mut moved = [T::default(); ITEMS];
        unrolled::<ITEMS>(|i| {
            if at(i) < n {
                // SAFETY: below n.
                moved[i] = unsafe { *input.get_unchecked(at(i)) };
            }
        });
        unrolled::<ITEMS>(|i| {
            if at(i) < n {
                // SAFETY: below n, and no other thread has this element.
                unsafe { output.add(n - 1 - at(i)).write(moved[i]) };
            }
        });
        first += thread::grid_dim_x() as usize * threads * ITEMS;
    }
}
