//! Reductions in one launch: the last block folds the blocks' results.
//!
//! Change from [`wide`](super::wide): there the host copies the partial results and folds them,
//! which takes longer than a small reduction itself. Here each block takes a ticket once its
//! partial result is written; the block with the last ticket knows that all exist, and folds them.
//!
//! - Which block is last varies from run to run, but not what it folds, nor in which order: lane l
//!   of its first warp takes the partial results l, l + 32, …, and the warp combines its lanes by
//!   shuffles. The result has the same bits in every run.
//! - The ticket is an `acq_rel` addition by lane 0, which wrote the partial result: it orders that
//!   write before the last block's addition, and a warp barrier orders the addition before all its
//!   lanes' reads. The other warps have finished.
//! - Blocks access partial results by relaxed atomics. If the ticket does not start at 0, a block
//!   may take itself for the last one too early and read a partial result while another block
//!   writes it: the result is then wrong, but there is no race.
//! - The result replaces the first partial result. The ticket starts at 0, and the last block
//!   resets it for the next launch.
//! - Four packs are in flight; the crate `ladder` has it with eight. Launch bounds allow 64
//!   registers for them.
//! - Packs are counted in 64 bits: it is the default for what `wide` cannot count.
//!
//! | H200, driver 580.159, 2026-11-21 | sum 2²⁰, µs | sum 2²⁹, TB/s | min 2²⁹ | dot 2²⁹ | `i64` dot 2²⁷ |
//! | --- | --- | --- | --- | --- | --- |
//! | this kernel | 7.3 | 4.63 | 4.63 | 4.65 | 4.61 |
//! | [`wide`](super::wide) | 6.1 | 4.65 | 4.64 | 4.66 | 4.62 |
//! | its twin in CUDA C++ | 7.4 | 4.63 | 4.63 | 4.66 | 4.62 |
//! | CUB, cuBLAS | 7.8 | 4.60 | 4.48 | 4.53 | |
//!
//! The figures exclude the host's work afterwards: with the other kernels it waits, copies the
//! partial results and folds them.

use cuda_std::atomic::intrinsics::{
    atomic_fetch_add_acqrel_u32_device, atomic_store_relaxed_32_device,
};
use cuda_std::prelude::*;
use cuda_std::uniform::assume_warp_uniform;

use super::lanes::WARP;
use super::policy::IN_FLIGHT;
use super::relaxed::{load, store};
use super::warps::{Share, fold_block};
use super::wide::{dot_share, share};
use super::{Addend, Extreme, Op, Sum};
use crate::pack::lanes;

/// Partial results in flight in each lane of the last block.
const AHEAD: u32 = 4;

/// Writes the grid's result to `partials[0]`.
///
/// # Safety
/// All threads of the launch call it, once: one row of blocks of whole warps along x, at most 32.
/// `partials` has one element per block, `ticket` one, and nothing else uses them.
#[inline(always)]
pub unsafe fn fold_grid<T: Addend, O: Op>(
    share: Share<O::Value<T>>,
    partials: *mut T::Partial,
    ticket: *mut u32,
    flip: u64,
) {
    let thread = thread::thread_idx_x();
    let (block, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    // SAFETY: the caller's promise. Whole warps continue or return. Blocks share the partial
    // results and the ticket, and access both atomically.
    unsafe {
        let value = fold_block::<T, O>(share);
        if assume_warp_uniform(thread / WARP) > 0 {
            return;
        }
        // ANCHOR: ticket
        let mut taken = 0;
        if thread == 0 {
            store(partials.add(block as usize), O::partial::<T>(value, flip));
            taken = atomic_fetch_add_acqrel_u32_device(ticket, 1);
        }
        let (taken, _) = warp::warp_shuffle_idx(u32::MAX, taken, 0, WARP);
        if taken != blocks - 1 {
            return;
        }
        // Orders lane 0's ticket, and with it the other blocks' partial results, before any lane's
        // reads of them.
        warp::sync_warp(u32::MAX);
        // ANCHOR_END: ticket
        let mut value = O::start::<T>();
        let mut i = thread;
        while i + (AHEAD - 1) * WARP < blocks {
            let first = partials.add(i as usize);
            let loaded: [T::Partial; AHEAD as usize] =
                core::array::from_fn(|part| load(first.add(part * WARP as usize)));
            value = loaded.into_iter().fold(value, |value, next| {
                O::merge::<T>(value, O::of_partial::<T>(next, flip))
            });
            i += AHEAD * WARP;
        }
        while i < blocks {
            let next = O::of_partial::<T>(load(partials.add(i as usize)), flip);
            value = O::merge::<T>(value, next);
            i += WARP;
        }
        let value = O::of_warp::<T, 1>([value]);
        // Only lane 0 has read the first partial result.
        if thread == 0 {
            store(partials, O::partial::<T>(value, flip));
            atomic_store_relaxed_32_device(ticket, 0);
        }
    }
}

/// partials\[0\] = Σ a\[i\]·b\[i\].
///
/// # Parameters
/// - `a`, `b`: n elements each. `partials`: one element per block, with any contents.
/// - `ticket`: one word, 0 before and after. If it starts with another number, the result is a fold
///   of some old and new partial results, or is missing.
///
/// # Launch
/// One-dimensional, blocks of a multiple of 32 threads, at most 1024; no dynamic shared memory. Any
/// grid.
#[kernel(
    instances(i64, f32, f64),
    max_threads = 1024,
    min_blocks = 1,
    require(
        a.len() == b.len(),
        ticket.len() == 1,
        block.x % 32 == 0,
        block.x <= 1024,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub fn dot_single<T: Addend>(
    a: &[T],
    b: &[T],
    mut partials: Out<<T as Addend>::Partial, PerBlock>,
    mut ticket: Atomics<u32>,
) {
    // SAFETY: `require` states equal lengths, whole warps along x and one ticket; the launch
    // provides one partial result per block.
    unsafe {
        let (partials, ticket) = (partials.as_mut_ptr(), ticket.as_mut_ptr());
        let end = |share| fold_grid::<T, Sum>(share, partials, ticket, 0);
        dot_share::<T, usize, { lanes::<T>() }, IN_FLIGHT, IN_FLIGHT, false>(a, b, end);
    }
}

/// partials\[0\] = the fold of the input: the sum, the minimum or the maximum. Minimum and maximum
/// propagate NaN.
///
/// # Parameters
/// - `input`: n elements. `partials`: one element per block, with any contents.
/// - `ticket`: one word, 0 before and after. If it starts with another number, the result is a fold
///   of some old and new partial results, or is missing.
///
/// # Launch
/// One-dimensional, blocks of a multiple of 32 threads, at most 1024; no dynamic shared memory. Any
/// grid.
#[kernel(
    instances((i64 | f32 | f64, Sum | Extreme)),
    name = "{O}_single_{T}",
    max_threads = 1024,
    min_blocks = 1,
    require(
        ticket.len() == 1,
        block.x % 32 == 0,
        block.x <= 1024,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub fn fold_single<T: Addend, O: Op>(
    input: &[T],
    mut partials: Out<<T as Addend>::Partial, PerBlock>,
    mut ticket: Atomics<u32>,
    flip: u64,
) {
    // SAFETY: `require` states whole warps along x and one ticket; the launch provides one partial
    // result per block.
    unsafe {
        let (partials, ticket) = (partials.as_mut_ptr(), ticket.as_mut_ptr());
        let end = |share| fold_grid::<T, O>(share, partials, ticket, flip);
        share::<T, O, usize, { lanes::<T>() }, IN_FLIGHT, IN_FLIGHT, false>(input, flip, end);
    }
}
