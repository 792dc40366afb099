//! Reductions: dot product, sum, minimum, maximum.
//!
//! All have the same three steps. Each thread folds elements that are a grid's size apart, so that
//! adjacent threads read adjacent elements; each block combines its threads' values into one; the
//! host combines the blocks' values. Only the second step differs: [`interleaved`] does it in
//! shared memory with bank conflicts, [`tree`] without, `shuffle` in the crate `ladder` mostly in
//! registers. [`wide`] then speeds up the first step, and [`single`] does the last one on the
//! device.
//! [`axis`] reduces along one axis of an array.
//!
//! Sums and extremes are instances of one kernel, by an [`Op`]; the dot product is a separate
//! kernel. A launch's `flip` makes an [`Extreme`] a minimum or a maximum, of signed or unsigned
//! numbers ([`Order`]).
//!
//! [`interleaved`] and [`tree`] add in the element's type, as the documents that they follow do.
//! The others add in higher precision: [`addend`] states what, and how exact the result is. All
//! write their partial results as [`Addend::Partial`].
//!
//! Minimum and maximum of no elements are the infinities (or the ends of `i64`); a block without
//! elements contributes these. NaN wins, as in NumPy, and keeps its sign and payload.

pub mod addend;
pub mod anchored;
pub mod axis;
pub mod interleaved;
mod lanes;
mod op;
pub mod partial;
pub mod policy;
mod relaxed;
pub mod single;
pub mod tree;
pub mod warps;
pub mod wide;

pub use addend::{Addend, TotalOf};
pub use op::{Extreme, Op, Order, Sum};
pub use partial::{Partial, Twofold, merge_totals};

use cuda_std::prelude::*;

use crate::number::Scalar;
use cuda_std::unroll::unrolled;

/// Threads per block, unless the launch chooses otherwise.
pub const THREADS: u32 = 256;

/// Folds this thread's share of `0..len`, from `start` with a stride of the whole grid.
///
/// A global load takes about 700 cycles, and a loop that folds each element before loading the next
/// waits that long for each. LLVM does not unroll it, because it cannot count the iterations of a
/// stride that might overflow, so it is unrolled here. With four loads in flight a thread needs at
/// most 32 registers, which allows full occupancy. The order of the folds is that of the plain
/// loop.
#[inline(always)]
pub(crate) fn grid_stride<T: Copy, E: Copy>(
    len: usize,
    start: T,
    load: impl Fn(usize) -> E,
    fold: impl Fn(T, E) -> T,
) -> T {
    match size_of::<E>() {
        4 => grid_stride_by::<4, T, E>(len, start, load, fold),
        // For two operands, or 64-bit elements.
        _ => grid_stride_by::<2, T, E>(len, start, load, fold),
    }
}

#[inline(always)]
fn grid_stride_by<const AHEAD: usize, T: Copy, E: Copy>(
    len: usize,
    start: T,
    load: impl Fn(usize) -> E,
    fold: impl Fn(T, E) -> T,
) -> T {
    let threads = thread::block_dim_x() as usize;
    let stride = thread::grid_dim_x() as usize * threads;
    let mut value = start;
    let mut i = thread::block_idx_x() as usize * threads + thread::thread_idx_x() as usize;
    while i + (AHEAD - 1) * stride < len {
        let loaded: [E; AHEAD] = core::array::from_fn(|part| load(i + part * stride));
        value = loaded.into_iter().fold(value, &fold);
        i += AHEAD * stride;
    }
    unrolled::<AHEAD>(|part| {
        if part + 1 < AHEAD && i < len {
            value = fold(value, load(i));
            i += stride;
        }
    });
    value
}

/// This thread's share of Σ a\[i\]·b\[i\], added in `T`.
#[inline(always)]
fn dot_share<T: Scalar>(block: &Block, a: &[T], b: &[T]) -> T {
    block.fold_strided((a, b), T::ZERO, |sum, (a, b)| a.mul_add(b, sum))
}

/// This thread's share of a fold of `input` in `T`.
#[inline(always)]
fn share<T: Scalar, O: Op>(block: &Block, input: &[T], flip: u64) -> T {
    block.fold_strided(input, O::identity(), |value, element| {
        O::apply(value, O::turned(element, flip))
    })
}

/// Thread 0 writes its block's result.
///
/// # Safety
/// `partials` has one element per block.
#[inline(always)]
pub(crate) unsafe fn write_partial<T>(partials: *mut T, value: T) {
    if thread::thread_idx_x() == 0 {
        // SAFETY: the caller's promise; only this thread of the grid writes this element.
        unsafe { partials.add(thread::block_idx_x() as usize).write(value) };
    }
}
