//! Reductions in one launch: the last block folds the blocks' results.
//!
//! Change from [`wide`](super::wide): there the host copies the partial results and folds them, which takes longer than a small
//! reduction itself. Here each block takes a ticket when its partial result is written; the block that gets the last one knows that all
//! are there, and folds them.
//!
//! - Which block is the last differs from run to run; what it folds, and in which order, does not: lane l of its first warp takes the partial
//!   results l, l + 32, …, and the warp combines its lanes by shuffles. The result has the same bits in every run.
//! - The ticket is an `acq_rel` addition by lane 0, which wrote the partial result: it orders that write before the last block's addition,
//!   and a barrier of the warp orders that before all its lanes' reads. The other warps are done.
//! - The result takes the place of the first partial result. The number of tickets lies behind the last one; it starts from "all bits
//!   set", which the last block restores for the next launch.
//!
//! | H200, driver 580.159, 2026-11-21 | sum 2²⁰, µs | sum 2²⁹, TB/s | min 2²⁹ | dot 2²⁹ | `i64` dot 2²⁷ |
//! | --- | --- | --- | --- | --- | --- |
//! | this kernel | 7.3 | 4.63 | 4.63 | 4.65 | 4.61 |
//! | [`wide`](super::wide) | 6.1 | 4.65 | 4.64 | 4.66 | 4.62 |
//! | its twin in CUDA C++ | 7.4 | 4.63 | 4.63 | 4.66 | 4.62 |
//! | CUB, cuBLAS | 7.8 | 4.60 | 4.48 | 4.53 | |
//!
//! The figures leave out what the host does afterwards: with the other rungs it waits, copies the partial results and folds them.

use cuda_std::atomic::intrinsics::atomic_fetch_add_acqrel_u32_device;
use cuda_std::prelude::*;

use super::policy::InFlight;
use super::shuffle::{WARP, combine_warp, shuffle};
use super::wide::{dot_share_by, share_by};
use crate::number::Scalar;

/// What `tickets` holds before the first block takes one. Memory poisoned with bytes of 0xFF holds it too.
const NONE_TAKEN: u32 = u32::MAX;

const FOUR: usize = InFlight::Four.packs();
const EIGHT: usize = InFlight::Eight.packs();

/// Writes the grid's result to `partials[0]`.
///
/// # Safety
/// All threads of the block call it, once, and they form whole warps. `partials` is as the kernels below want it.
#[inline(always)]
unsafe fn fold_grid<T: Scalar + warp::WarpShuffleValue>(
    value: T,
    identity: T,
    op: fn(T, T) -> T,
    partials: *mut T,
) {
    let thread = thread::thread_idx_x();
    let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    let tickets = partials.wrapping_add(blocks as usize).cast::<u32>();
    // SAFETY: the caller's promise; each block has its own partial result, and the last one all of them. Whole warps go on or return.
    unsafe {
        let value = shuffle(value, identity, op);
        if thread >= WARP {
            return;
        }
        let mut ticket = 0;
        if thread == 0 {
            partials.add(block as usize).write(value);
            ticket = atomic_fetch_add_acqrel_u32_device(tickets, 1).wrapping_add(1);
        }
        let (ticket, _) = warp::warp_shuffle_idx(u32::MAX, ticket, 0, WARP);
        if ticket != blocks - 1 {
            return;
        }
        // Lane 0's ticket, and with it the other blocks' partial results, come before any lane's reads of them.
        warp::sync_warp(u32::MAX);
        let mut value = identity;
        let mut i = thread;
        while i < blocks {
            value = op(value, partials.add(i as usize).read());
            i += WARP;
        }
        let value = combine_warp(value, op);
        // Nobody but lane 0 has read the first partial result.
        if thread == 0 {
            partials.write(value);
            tickets.write(NONE_TAKEN);
        }
    }
}

macro_rules! single_launch {
    ($packs:ident: $($t:ident: $dot:ident $sum:ident $min:ident $max:ident;)*) => {$(
        /// partials\[0\] = Σ a\[i\]·b\[i\].
        ///
        /// # Parameters
        /// - `a`, `b`: n elements each. `partials`: an element for each block and one more, all bits of which are set before and after.
        ///
        /// # Launch
        /// One-dimensional, a block of a multiple of 32 threads, at most 1024; no dynamic shared memory. Any grid.
        ///
        /// # Safety
        /// The crate's rules; `b` is as long as `a`; the launch is as stated; no other launch uses `partials` at the same time.
        #[kernel]
        pub unsafe fn $dot(a: &[$t], b: &[$t], partials: *mut $t) {
            // SAFETY: passed on to the caller.
            unsafe { fold_grid(dot_share_by::<_, $packs>(a, b), $t::ZERO, $t::add, partials) }
        }

        /// partials\[0\] = Σ input\[i\].
        ///
        /// # Parameters
        /// - `input`: n elements. `partials`: an element for each block and one more, all bits of which are set before and after.
        ///
        /// # Launch
        /// One-dimensional, a block of a multiple of 32 threads, at most 1024; no dynamic shared memory. Any grid.
        ///
        /// # Safety
        /// The crate's rules; the launch is as stated; no other launch uses `partials` at the same time.
        #[kernel]
        pub unsafe fn $sum(input: &[$t], partials: *mut $t) {
            let sum = share_by::<_, $packs>(input, $t::ZERO, $t::add);
            // SAFETY: passed on to the caller.
            unsafe { fold_grid(sum, $t::ZERO, $t::add, partials) }
        }

        /// partials\[0\] = the smallest element; NaN if there is one.
        ///
        /// # Parameters
        /// - `input`: n elements. `partials`: an element for each block and one more, all bits of which are set before and after.
        ///
        /// # Launch
        /// One-dimensional, a block of a multiple of 32 threads, at most 1024; no dynamic shared memory. Any grid.
        ///
        /// # Safety
        /// The crate's rules; the launch is as stated; no other launch uses `partials` at the same time.
        #[kernel]
        pub unsafe fn $min(input: &[$t], partials: *mut $t) {
            let min = <$t as Scalar>::min;
            // SAFETY: passed on to the caller.
            unsafe { fold_grid(share_by::<_, $packs>(input, $t::HIGHEST, min), $t::HIGHEST, min, partials) }
        }

        /// partials\[0\] = the largest element; NaN if there is one.
        ///
        /// # Parameters
        /// - `input`: n elements. `partials`: an element for each block and one more, all bits of which are set before and after.
        ///
        /// # Launch
        /// One-dimensional, a block of a multiple of 32 threads, at most 1024; no dynamic shared memory. Any grid.
        ///
        /// # Safety
        /// The crate's rules; the launch is as stated; no other launch uses `partials` at the same time.
        #[kernel]
        pub unsafe fn $max(input: &[$t], partials: *mut $t) {
            let max = <$t as Scalar>::max;
            // SAFETY: passed on to the caller.
            unsafe { fold_grid(share_by::<_, $packs>(input, $t::LOWEST, max), $t::LOWEST, max, partials) }
        }
    )*};
}
single_launch! {
    FOUR:
    i64: dot_single_i64 sum_single_i64 min_single_i64 max_single_i64;
    f32: dot_single_f32 sum_single_f32 min_single_f32 max_single_f32;
    f64: dot_single_f64 sum_single_f64 min_single_f64 max_single_f64;
}
single_launch! {
    EIGHT:
    i64: dot_single8_i64 sum_single8_i64 min_single8_i64 max_single8_i64;
    f32: dot_single8_f32 sum_single8_f32 min_single8_f32 max_single8_f32;
    f64: dot_single8_f64 sum_single8_f64 min_single8_f64 max_single8_f64;
}
