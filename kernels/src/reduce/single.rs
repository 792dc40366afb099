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
//! - The result takes the place of the first partial result. The ticket counts from 0, and the last block puts that back for the next
//!   launch.
//! - There is an instance for each number of packs that a thread has under way: see [`InFlight`].
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
use super::warps::{WARP, combine_warp, shuffle};
use super::wide::{dot_share, share};
use super::{Max, Min, Op, Sum};
use crate::number::Scalar;
use crate::pack::lanes;

const FOUR: usize = InFlight::Four.packs();
const EIGHT: usize = InFlight::Eight.packs();

/// Writes the grid's result to `partials[0]`.
///
/// # Safety
/// All threads of the block call it, once, and they form whole warps. `partials` and `ticket` are as the kernels below want them.
#[inline(always)]
unsafe fn fold_grid<T: Scalar, O: Op>(value: T, partials: *mut T, ticket: *mut u32) {
    let thread = thread::thread_idx_x();
    let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    // SAFETY: the caller's promise; each block has its own partial result, and the last one all of them. Whole warps go on or return.
    unsafe {
        let value = shuffle::<T, O>(value);
        if thread >= WARP {
            return;
        }
        let mut taken = 0;
        if thread == 0 {
            partials.add(block as usize).write(value);
            taken = atomic_fetch_add_acqrel_u32_device(ticket, 1);
        }
        let (taken, _) = warp::warp_shuffle_idx(u32::MAX, taken, 0, WARP);
        if taken != blocks - 1 {
            return;
        }
        // Lane 0's ticket, and with it the other blocks' partial results, come before any lane's reads of them.
        warp::sync_warp(u32::MAX);
        let mut value = O::identity();
        let mut i = thread;
        while i < blocks {
            value = O::apply(value, partials.add(i as usize).read());
            i += WARP;
        }
        let value = combine_warp::<T, O>(value);
        // Nobody but lane 0 has read the first partial result.
        if thread == 0 {
            partials.write(value);
            ticket.write(0);
        }
    }
}

/// partials\[0\] = Σ a\[i\]·b\[i\].
///
/// # Parameters
/// - `a`, `b`: n elements each. `partials`: an element for each block; what is in it does not matter.
/// - `ticket`: one word, 0 before and after.
///
/// # Launch
/// One-dimensional, a block of a multiple of 32 threads, at most 1024; no dynamic shared memory. Any grid.
///
/// # Safety
/// The crate's rules; `b` is as long as `a`; the launch is as stated; no other launch uses `partials` or `ticket` at the same time.
#[kernel(
    instances(i64, f32, f64),
    require(
        a.len() == b.len(),
        partials.len() >= grid.x as usize,
        ticket.len() == 1,
        block.x % 32 == 0,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub unsafe fn dot_single<T: Scalar>(a: &[T], b: &[T], partials: *mut T, ticket: *mut u32) {
    // SAFETY: passed on to the caller.
    unsafe {
        let sum = dot_share::<T, { lanes::<T>() }, FOUR>(a, b);
        fold_grid::<T, Sum>(sum, partials, ticket);
    }
}

/// partials\[0\] = the fold of the input: its sum, its smallest or its largest element. Of the latter NaN, if there is one.
///
/// # Parameters
/// - `input`: n elements. `partials`: an element for each block; what is in it does not matter.
/// - `ticket`: one word, 0 before and after.
///
/// # Launch
/// One-dimensional, a block of a multiple of 32 threads, at most 1024; no dynamic shared memory. Any grid.
///
/// # Safety
/// The crate's rules; the launch is as stated; no other launch uses `partials` or `ticket` at the same time.
#[kernel(
    instances((i64 | f32 | f64, Sum | Min | Max)),
    name = "{O}_single_{T}",
    require(
        partials.len() >= grid.x as usize,
        ticket.len() == 1,
        block.x % 32 == 0,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub unsafe fn fold_single<T: Scalar, O: Op>(input: &[T], partials: *mut T, ticket: *mut u32) {
    // SAFETY: passed on to the caller.
    unsafe {
        let value = share::<T, O, { lanes::<T>() }, FOUR>(input);
        fold_grid::<T, O>(value, partials, ticket);
    }
}

/// As [`dot_single`], with eight packs under way.
///
/// # Safety
/// As there.
#[kernel(
    instances(i64, f32, f64),
    require(
        a.len() == b.len(),
        partials.len() >= grid.x as usize,
        ticket.len() == 1,
        block.x % 32 == 0,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub unsafe fn dot_single8<T: Scalar>(a: &[T], b: &[T], partials: *mut T, ticket: *mut u32) {
    // SAFETY: passed on to the caller.
    unsafe {
        let sum = dot_share::<T, { lanes::<T>() }, EIGHT>(a, b);
        fold_grid::<T, Sum>(sum, partials, ticket);
    }
}

/// As [`fold_single`], with eight packs under way.
///
/// # Safety
/// As there.
#[kernel(
    instances((i64 | f32 | f64, Sum | Min | Max)),
    name = "{O}_single8_{T}",
    require(
        partials.len() >= grid.x as usize,
        ticket.len() == 1,
        block.x % 32 == 0,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub unsafe fn fold_single8<T: Scalar, O: Op>(input: &[T], partials: *mut T, ticket: *mut u32) {
    // SAFETY: passed on to the caller.
    unsafe {
        let value = share::<T, O, { lanes::<T>() }, EIGHT>(input);
        fold_grid::<T, O>(value, partials, ticket);
    }
}
