//! Convolution in registers, for few taps: each warp works independently and prefetches its next
//! tile.
//!
//! Change from [`tiled`](super::tiled): there each multiply-add reads a sample and a tap from
//! shared memory, which limits the speed. Here a thread keeps [`PACKS`] packs of adjacent outputs
//! and their samples in registers: see `steps.rs`. What remains is to keep memory busy. Two tiles
//! of a warp fit into shared memory: one is computed while the other is copied.
//!
//! - Loads: `cp.async`, 16 bytes at a time; adjacent lanes copy adjacent packs. Neither signal nor
//!   offset needs to be aligned: copies start at the next pack, and the taps shift by the same
//!   number of samples, so the first slots of their first pack may be empty. That pack is added
//!   separately. The first tile's copies are in flight before the block loads the taps.
//! - Lane l owns packs PACKS · l, … of its warp's tile. The sums overwrite the samples, and lane l
//!   writes packs l, l + 32, …: 512 contiguous bytes per warp.
//! - All barriers are the warp's own, except one after the taps.
//! - Outputs before the first and after the last whole tile are computed as in
//!   [`direct`](super::direct).
//! - Every output adds its taps in order, so results equal those of [`direct`](super::direct) bit
//!   by bit.
//!
//! Share of the copy's bandwidth (4.26 TB/s), or of the FMA peak (62.9 TFLOP/s) for 63 taps, on an
//! H200, driver 580.159, 2026-11-22, medians of 51 alternating launches, `f32` in mode same; what
//! else was tried is in docs/log/2026-11-22-tuning.md:
//!
//! | all with 16-byte copies and 5 resident blocks | 5 taps, 2²⁶ | 10, 2²⁶ | 31, 2²⁶ | 32, 2²⁶ | 63, 2²⁶ | 63, 2²⁸ |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | 20 moves before the last step, tiles counted in 64 bits | 0.969 | 0.962 | 0.932 | 0.929 | 0.728 | 0.781 |
//! | a separate last step, without moves | 0.968 | 0.958 | 0.932 | 0.926 | 0.742 | 0.794 |
//! | **and tiles counted in 32 bits** | 0.973 | 0.969 | 0.930 | 0.929 | 0.747 | 0.800 |
//! | and a failing test of a pack branches to the end, past the other tests | 0.965 | 0.968 | 0.933 | 0.932 | 0.746 | 0.799 |
//!
//! The remaining time, by ncu with 63 taps for an earlier form: the schedulers issue in 86 % of the
//! cycles, and seven of eight instructions (now nine of ten) are multiply-adds; most other cycles
//! are dispatch stalls, see `steps.rs`.

use core::ptr;

use cuda_std::async_copy::{cp_async_commit_group, cp_async_wait_group, shared_address};
use cuda_std::prelude::*;
use cuda_std::uniform::assume_warp_uniform;

use super::direct::convolve_one;
use super::span::{convolve_ends, copy_samples, put_sums, whole_tiles, write_sums};
use super::steps::{add_pack, add_taps};
use crate::number::Real;
use crate::pack::{self, Pack, lanes};

/// Threads per block.
pub const THREADS: u32 = 128;

/// Packs of outputs per thread: an odd number.
pub const PACKS: usize = 5;

/// Maximum number of taps.
pub const MAX_TAPS: usize = 64;

/// Outputs in a warp's tile for elements of type `T`.
pub const fn span<T>() -> usize {
    LANES_OF_A_WARP as usize * PACKS * lanes::<T>()
}

/// Bytes of static shared memory.
pub const fn shared_bytes<T>() -> usize {
    (WARPS * STAGES * stage::<T>() + tap_packs::<T>()) * pack::BYTES
}

/// Warps per block.
pub const WARPS: usize = (THREADS / LANES_OF_A_WARP) as usize;

const LANES_OF_A_WARP: u32 = 32;

/// Tiles per warp in shared memory.
pub(super) const STAGES: usize = 2;

/// Packs that hold the taps, wherever in the first pack they start.
pub(super) const fn tap_packs<T>() -> usize {
    MAX_TAPS / lanes::<T>() + 1
}

/// Packs of a tile and of the samples below it, which take as many packs as the taps.
pub(super) const fn stage<T>() -> usize {
    tap_packs::<T>() + LANES_OF_A_WARP as usize * PACKS
}

/// y\[i\] = Σₖ taps\[k\] · signal\[i + offset − k\] for every i of `output`, summed in tap order.
///
/// # Parameters
/// - `signal`: n samples. `taps`: m taps, 1 to [`MAX_TAPS`].
/// - `offset`: see [the module](super).
///
/// # Launch
/// One-dimensional, at most 2²⁹ blocks of [`THREADS`] threads; no dynamic shared memory. The grid
/// strides over the tiles, one warp per tile.
#[kernel(
    instances(f32, f64),
    max_threads = 128,
    min_blocks = 5,
    require(
        (1..=MAX_TAPS).contains(&taps.len()),
        block.x == THREADS,
        grid.x <= 1 << 29,
        output.len() / span::<T>() < 1 << 31,
        offset.checked_add(output.len()).is_some(),
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub fn conv1d_window<T: Real>(signal: &[T], taps: &[T], mut output: Out<T>, offset: usize) {
    const LANES: usize = lanes::<T>();
    const OUTPUTS: usize = PACKS * LANES;
    let output = ptr::slice_from_raw_parts_mut(output.as_mut_ptr(), output.len());
    let tiles = shared_array![Pack<T, LANES>; WARPS * STAGES * stage::<T>()];
    let shared_taps = shared_array![Pack<T, LANES>; tap_packs::<T>()];
    // SAFETY: `require` states the number of taps, the block, a grid and an output whose tiles 32
    // bits count, and the largest index; the arrays have the stated sizes.
    unsafe {
        convolve::<T, LANES, OUTPUTS>(
            signal,
            taps,
            output,
            offset,
            tiles,
            shared_taps,
            |_| {},
            |i| convolve_one(signal, taps, i + offset),
        );
    }
}

/// Outputs of whole tiles in registers, others by `one`. After a tile's stores the whole warp calls
/// `amend` with the index in `output` of the tile's first output.
///
/// # Safety
/// There are 1 to [`MAX_TAPS`] taps; only this launch uses the output; `offset` plus its length
/// does not overflow. All threads of the launch call it: at most 2²⁹ blocks of [`THREADS`] along x.
/// The output has fewer than 2³¹ tiles. `tiles` is shared memory for the stages of all warps,
/// `shared_taps` for the taps.
#[inline(always)]
#[allow(
    clippy::too_many_arguments,
    reason = "operands, shared memory, and what rows add"
)]
pub(super) unsafe fn convolve<T: Real, const LANES: usize, const OUTPUTS: usize>(
    signal: &[T],
    taps: &[T],
    output: *mut [T],
    offset: usize,
    tiles: *mut Pack<T, LANES>,
    shared_taps: *mut Pack<T, LANES>,
    amend: impl Fn(usize),
    one: impl Fn(usize) -> T,
) {
    const GROUP: usize = LANES_OF_A_WARP as usize;
    let (output, output_len) = (output.cast::<T>(), output.len());
    let thread = thread::thread_idx_x();
    // SAFETY: in a one-dimensional block, threads are lanes by their number.
    let warp = unsafe { assume_warp_uniform(thread / LANES_OF_A_WARP) };
    let lane = thread % LANES_OF_A_WARP;
    let (span, lanes) = (span::<T>(), LANES as u32);
    // Distance in samples from a pack boundary of output 0's sample for tap 0.
    let samples = signal.as_ptr().wrapping_add(offset);
    let moved = pack::elements_before(samples) as u32;
    let slots = moved + taps.len() as u32;
    let below = (slots + lanes - 2) / lanes;
    let whole = whole_tiles(
        signal.len(),
        output,
        output_len,
        offset,
        span,
        (below * lanes - moved) as usize,
        moved as usize,
    );
    // With 64 bits each step from tile to tile would take two or three instructions.
    let end = whole.end as u32;

    // In each of this warp's stages, the tile's first pack follows the samples below it.
    let first = warp * (STAGES * stage::<T>()) as u32 + tap_packs::<T>() as u32;
    let slot = shared_address(tiles) + (first + lane) * pack::BYTES as u32;
    let (first, lane) = (tiles.wrapping_add(first as usize), lane as usize);
    let from = samples.wrapping_add(moved as usize);
    let from = from.cast::<Pack<T, LANES>>().wrapping_add(lane);
    // Commits even without copies, so that there are as many groups as tiles.
    let copy = |tile: u32, stage: u32| {
        if tile < end {
            let from = from.wrapping_add(tile as usize * (span / LANES));
            let slot = slot + stage * (self::stage::<T>() * pack::BYTES) as u32;
            // SAFETY: around a whole tile all samples of its packs exist; no other warp uses the
            // stage.
            unsafe { copy_samples::<_, PACKS, 1, GROUP>(slot, from, lane, below as usize) };
        }
        cp_async_commit_group();
    };
    let warps = thread::grid_dim_x() * WARPS as u32;
    let mut tile = whole.start as u32 + thread::block_idx_x() * WARPS as u32 + warp;
    let mut stage = 0;
    copy(tile, stage);

    const { assert!(MAX_TAPS <= THREADS as usize, "a thread has one tap") };
    if thread < taps.len() as u32 {
        let slot = shared_taps
            .cast::<T>()
            .wrapping_add((moved + thread) as usize);
        // SAFETY: a tap of this thread only; there are slots for the most taps at the largest
        // shift.
        unsafe { slot.write(*taps.get_unchecked(thread as usize)) };
    }
    // Orders every thread's taps before any thread's reads of them.
    thread::sync_threads();

    while tile < end {
        cp_async_wait_group::<0>();
        // Orders every lane's copies before any lane's reads of them, and every lane's reads of the
        // other stage before its next copies.
        // SAFETY: the whole warp is here, because its lanes have the same tiles.
        unsafe { warp::sync_warp(u32::MAX) };
        copy(tile + warps, 1 - stage);
        let samples = first.wrapping_add(stage as usize * self::stage::<T>());
        let mut sums = [T::ZERO; OUTPUTS];
        // SAFETY: the samples of a whole tile and the taps have been copied. Only this lane writes
        // its sums, and its packs of the output.
        unsafe {
            let own = samples.add(lane * PACKS);
            add_pack::<T, LANES, PACKS, OUTPUTS>(&mut sums, own, shared_taps, moved..slots);
            let (own_below, taps) = (own.sub(1), shared_taps.add(1));
            let left = slots.saturating_sub(lanes);
            add_taps::<T, LANES, PACKS, OUTPUTS, true>(&mut sums, own_below, taps, left);
            // Orders every lane's reads of samples before the sums that overwrite them.
            warp::sync_warp(u32::MAX);
            put_sums::<T, LANES, PACKS, OUTPUTS>(&sums, own);
            // Orders every lane's sums before any lane's reads of them.
            warp::sync_warp(u32::MAX);
            let to = output.add(tile as usize * span);
            let to = to.cast::<Pack<T, LANES>>().add(lane);
            write_sums::<T, LANES, PACKS, GROUP>(samples.add(lane), to);
        }
        amend(tile as usize * span);
        tile += warps;
        stage = 1 - stage;
    }

    // After the whole tiles, because threads diverge here, and ptxas would otherwise allocate more
    // registers for what follows.
    let outputs = whole.start * span..whole.end * span;
    // SAFETY: no index overflows, and the block has these threads.
    unsafe {
        convolve_ends(output, output_len, outputs, THREADS as usize, one);
    }
}
