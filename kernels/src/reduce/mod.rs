//! Reductions: dot product, sum, minimum, maximum.
//!
//! All have the same three steps. Each thread folds every (threads in the grid)-th element, so that neighbouring threads read
//! neighbouring elements; each block combines its threads' values into one; the host combines the blocks' values. Only the second
//! step differs: [`interleaved`] does it in shared memory with bank conflicts, [`tree`] without, [`shuffle`] mostly in registers.
//! Then the first step is made faster, in [`wide`], and the last one done on the device, in [`single`].
//!
//! Minimum and maximum of nothing are the infinities (or the ends of `i64`); a block without elements contributes those. NaN wins,
//! as in NumPy.

pub mod interleaved;
pub mod policy;
pub mod shuffle;
pub mod single;
pub mod tree;
pub mod wide;

use cuda_std::prelude::*;

use crate::number::Scalar;
use crate::unroll::unrolled;

/// Threads of a block, unless the launch chooses otherwise.
pub const THREADS: u32 = 256;

/// Folds this thread's share of `0..len` from `start` on, by a stride of the whole grid.
///
/// Memory answers after some 700 cycles, and a loop that folds each element before it asks for the next would wait as long for each.
/// LLVM does not unroll it, for it cannot count the rounds of a stride that might overflow: so it is done here. With four loads under
/// way a thread needs at most 32 registers, and a multiprocessor holds as many threads as it can. The order of the folds is that of the
/// plain loop.
#[inline(always)]
fn grid_stride<T: Copy, E: Copy>(
    len: usize,
    start: T,
    load: impl Fn(usize) -> E,
    fold: impl Fn(T, E) -> T,
) -> T {
    match size_of::<E>() {
        4 => grid_stride_by::<4, T, E>(len, start, load, fold),
        // Elements of two operands, or of 64 bits.
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

/// This thread's share of Σ a\[i\]·b\[i\].
///
/// # Safety
/// `b` is at least as long as `a`.
#[inline(always)]
unsafe fn dot_share<T: Scalar>(a: &[T], b: &[T]) -> T {
    // SAFETY: i is below a's length.
    let load = |i: usize| unsafe { (*a.get_unchecked(i), *b.get_unchecked(i)) };
    grid_stride(a.len(), T::ZERO, load, |sum, (a, b)| a.mul_add(b, sum))
}

/// This thread's share of a fold of `input`.
#[inline(always)]
fn share<T: Scalar>(input: &[T], start: T, op: fn(T, T) -> T) -> T {
    // SAFETY: i is below the length.
    let load = |i: usize| unsafe { *input.get_unchecked(i) };
    grid_stride(input.len(), start, load, op)
}

/// Thread 0 writes its block's result.
///
/// # Safety
/// `partials` has an element for each block.
#[inline(always)]
unsafe fn write_partial<T>(partials: *mut T, value: T) {
    if thread::thread_idx_x() == 0 {
        // SAFETY: the caller's promise; only this thread of the grid writes this element.
        unsafe { partials.add(thread::block_idx_x() as usize).write(value) };
    }
}

/// The kernels of one way to combine a block: `combine(value, identity, op)` gives thread 0 the block's result.
macro_rules! reductions {
    ($combine:ident, $launch:literal; $($t:ident: $dot:ident $sum:ident $min:ident $max:ident;)*) => {$(
        /// partials\[block\] = the block's share of Σ a\[i\]·b\[i\].
        ///
        /// # Parameters
        /// - `a`, `b`: n elements each. `partials`: one element for each block.
        ///
        /// # Launch
        #[doc = $launch]
        ///
        /// # Safety
        /// The crate's rules; `b` is as long as `a`; the launch is as stated.
        #[kernel]
        pub unsafe fn $dot(a: &[$t], b: &[$t], partials: *mut $t) {
            // SAFETY: passed on to the caller.
            unsafe { write_partial(partials, $combine(dot_share(a, b), $t::ZERO, $t::add)) }
        }

        /// partials\[block\] = the block's share of Σ input\[i\].
        ///
        /// # Parameters
        /// - `input`: n elements. `partials`: one element for each block.
        ///
        /// # Launch
        #[doc = $launch]
        ///
        /// # Safety
        /// The crate's rules; the launch is as stated.
        #[kernel]
        pub unsafe fn $sum(input: &[$t], partials: *mut $t) {
            // SAFETY: passed on to the caller.
            unsafe { write_partial(partials, $combine(share(input, $t::ZERO, $t::add), $t::ZERO, $t::add)) }
        }

        /// partials\[block\] = the smallest element of the block's share; NaN if there is one.
        ///
        /// # Parameters
        /// - `input`: n elements. `partials`: one element for each block.
        ///
        /// # Launch
        #[doc = $launch]
        ///
        /// # Safety
        /// The crate's rules; the launch is as stated.
        #[kernel]
        pub unsafe fn $min(input: &[$t], partials: *mut $t) {
            let min = <$t as Scalar>::min;
            // SAFETY: passed on to the caller.
            unsafe { write_partial(partials, $combine(share(input, $t::HIGHEST, min), $t::HIGHEST, min)) }
        }

        /// partials\[block\] = the largest element of the block's share; NaN if there is one.
        ///
        /// # Parameters
        /// - `input`: n elements. `partials`: one element for each block.
        ///
        /// # Launch
        #[doc = $launch]
        ///
        /// # Safety
        /// The crate's rules; the launch is as stated.
        #[kernel]
        pub unsafe fn $max(input: &[$t], partials: *mut $t) {
            let max = <$t as Scalar>::max;
            // SAFETY: passed on to the caller.
            unsafe { write_partial(partials, $combine(share(input, $t::LOWEST, max), $t::LOWEST, max)) }
        }
    )*};
}
use reductions;
