//! Convolution in registers for any number of taps: the tile's sums stay in registers, and the taps
//! are loaded in chunks.
//!
//! Change from [`window`](super::window): with many taps the kernel is compute-bound, and shared
//! memory would have to hold as many samples below a tile as there are taps. Here a block computes
//! a tile of THREADS · OUTPUTS outputs with [`CHUNK`] taps at a time: the sums stay in registers,
//! and shared memory holds the tile's samples for these taps, those below them, and the taps. There
//! is no prefetching: while one block waits, the multiprocessor's other blocks compute.
//!
//! - Thread t owns packs PACKS · t, … of the tile; loads, sums and stores are as in
//!   [`window`](super::window), with a block instead of the warp.
//! - Every output adds its taps in order, so results equal those of [`direct`](super::direct) bit
//!   by bit.
//!
//! Share of the FMA peak (63.2 TFLOP/s) on an H200, driver 580.159, 2026-11-21, n = 2²⁶ `f32`,
//! medians of 7 to 21:
//!
//! | resident blocks, by registers | 128 taps | 255 taps | 1023 taps |
//! | --- | --- | --- | --- |
//! | 5 | 0.70 | 0.82 | 0.88 |
//! | **6** | 0.74 | 0.83 | 0.88 |
//! | 7 | 0.72 | 0.81 | 0.86 |
//!
//! With 7 packs per thread 255 taps reached 0.70, with [`CHUNK`] 256 0.81, with 256 threads 0.76.

use core::ptr;

use cuda_std::async_copy::{cp_async_ca_to, cp_async_wait_all, shared_address};
use cuda_std::prelude::*;

use super::direct::convolve_one;
use super::span::{convolve_ends, copy_samples, put_sums, whole_tiles, write_sums};
use super::steps::add_taps;
use crate::number::Real;
use crate::pack::{Pack, lanes};
use cuda_std::unroll::unrolled;

/// Threads per block.
pub const THREADS: u32 = 128;

/// Packs of outputs per thread: an odd number.
pub const PACKS: usize = 5;

/// Taps in shared memory at a time.
pub const CHUNK: usize = 512;

/// Outputs of a block's tile for elements of type `T`.
pub const fn span<T>() -> usize {
    THREADS as usize * PACKS * lanes::<T>()
}

/// Bytes of static shared memory.
pub const fn shared_bytes<T>() -> usize {
    (span::<T>() + 2 * CHUNK) * size_of::<T>()
}

/// y\[i\] = Σₖ taps\[k\] · signal\[i + offset − k\] for every i of `output`, summed in tap order.
///
/// # Parameters
/// - `signal`: n samples. `taps`: m ≥ 1 taps.
/// - `offset`: see [the module](super).
///
/// # Launch
/// One-dimensional, blocks of [`THREADS`] threads; no dynamic shared memory. The grid strides over
/// the tiles.
#[kernel(
    instances(f32, f64),
    max_threads = 128,
    min_blocks = 6,
    require(
        !taps.is_empty(),
        block.x == THREADS,
        offset.checked_add(output.len()).is_some(),
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub fn conv1d_blocked<T: Real>(signal: &[T], taps: &[T], mut output: Out<T>, offset: usize) {
    const LANES: usize = lanes::<T>();
    const OUTPUTS: usize = PACKS * LANES;
    let output = ptr::slice_from_raw_parts_mut(output.as_mut_ptr(), output.len());
    let tile = shared_array![Pack<T, LANES>; (span::<T>() + CHUNK) / LANES];
    let chunk = shared_array![Pack<T, LANES>; CHUNK / LANES];
    // SAFETY: `require` states that there is a tap, the block, one row of blocks and the largest
    // index; the arrays have the stated sizes.
    unsafe { convolve::<T, LANES, OUTPUTS>(signal, taps, output, offset, tile, chunk) }
}

/// # Safety
/// There is at least one tap; only this launch uses the output; `offset` plus its length does not
/// overflow. All threads of the launch call it: one row of blocks of [`THREADS`] along x. `shared`
/// is shared memory for a tile's samples and a chunk below them, `chunk` for a chunk of taps.
#[inline(always)]
unsafe fn convolve<T: Real, const LANES: usize, const OUTPUTS: usize>(
    signal: &[T],
    taps: &[T],
    output: *mut [T],
    offset: usize,
    shared: *mut Pack<T, LANES>,
    chunk: *mut Pack<T, LANES>,
) {
    const GROUP: usize = THREADS as usize;
    const ROUNDS: usize = CHUNK / GROUP;
    let (output, output_len) = (output.cast::<T>(), output.len());
    let thread = thread::thread_idx_x() as usize;
    let span = span::<T>();
    let whole = whole_tiles(
        signal.len(),
        output,
        output_len,
        offset,
        span,
        taps.len() - 1,
        0,
    );

    let samples = shared.wrapping_add(CHUNK / LANES);
    let own = samples.wrapping_add(thread * PACKS);
    let bytes = (thread * size_of::<T>()) as u32;
    let (slot, tap_slot) = (
        shared_address(samples) + bytes,
        shared_address(chunk) + bytes,
    );
    let mut tile = whole.start + thread::block_idx_x() as usize;
    while tile < whole.end {
        let mut sums = [T::ZERO; OUTPUTS];
        let mut done = 0;
        while done < taps.len() {
            let left = taps.len() - done;
            let count = if left < CHUNK { left } else { CHUNK };
            // SAFETY: a whole tile needs existing samples only; no other thread uses the slots;
            // `count` more taps exist.
            unsafe {
                let sample = signal.as_ptr().add(tile * span + offset - done + thread);
                copy_samples::<T, OUTPUTS, ROUNDS, GROUP>(slot, sample, thread, count - 1);
                let tap = taps.as_ptr().add(done);
                unrolled::<ROUNDS>(|i| {
                    let k = thread + i * GROUP;
                    if k < count {
                        cp_async_ca_to(tap_slot + (i * GROUP * size_of::<T>()) as u32, tap.add(k));
                    }
                });
            }
            cp_async_wait_all();
            // Orders every thread's copies before any thread's reads of them.
            thread::sync_threads();
            // SAFETY: the samples that these taps need, and the taps, have been copied.
            unsafe {
                add_taps::<T, LANES, PACKS, OUTPUTS, false>(&mut sums, own, chunk, count as u32);
            }
            done += count;
            // Orders every thread's reads before any thread's next copies, and before the sums that
            // overwrite the samples.
            thread::sync_threads();
        }
        // SAFETY: only this thread writes its sums, and its packs of the output.
        unsafe {
            put_sums::<T, LANES, PACKS, OUTPUTS>(&sums, own);
            // Orders every thread's sums before any thread's reads of them.
            thread::sync_threads();
            let to = output.add(tile * span).cast::<Pack<T, LANES>>().add(thread);
            write_sums::<T, LANES, PACKS, GROUP>(samples.add(thread), to);
        }
        tile += thread::grid_dim_x() as usize;
        // Orders every thread's reads of sums before any thread's copies for the next tile.
        thread::sync_threads();
    }

    // After the whole tiles, because threads diverge here, and ptxas would otherwise allocate more
    // registers for what follows.
    let outputs = whole.start * span..whole.end * span;
    // SAFETY: no index overflows, and the block has these threads.
    unsafe {
        convolve_ends(output, output_len, outputs, GROUP, |i| {
            convolve_one(signal, taps, i + offset)
        });
    }
}
