//! Convolution of each row of a matrix by direct sums: in the tiles of [`window`], of each row or of
//! all rows joined, or with a thread for each output.
//!
//! A kernel of its own, because a row's addresses in `window` slowed down single signals
//! (docs/log/2026-11-27-rows.md). Every output adds its taps in order: a row has the bits that it
//! has by itself.
//!
//! - Wide: a block's row comes from its place along y and z. Tiles begin at the row's first whole
//!   pack, wherever that is; the outputs before it are computed one by one.
//! - Joined: rows that follow each other without gaps, with as many outputs as samples, are
//!   convolved as if they were one signal, so that tiles span rows. Outputs whose taps reach into
//!   another row are then written anew: one less than there are taps, for each row.
//! - Narrow: 2^`log_width` adjacent threads take a row's outputs one by one, so that short rows
//!   share a block. The grid strides over rows too, and where rows share the taps a thread takes
//!   [`ABREAST`] of them at a time: loads bound it, and one of a tap then serves four sums. There
//!   may be any number of taps.

use core::hint::assert_unchecked;
use core::ptr;

use cuda_std::prelude::*;
use cuda_std::unroll::{in_groups, unrolled};

use super::direct::convolve_one;
use super::matrix::{row_of, row_of_layers, start};
use super::taps_inside;
use super::window::{self, MAX_TAPS, STAGES, THREADS, WARPS, convolve, stage, tap_packs};
use crate::number::Real;
use crate::pack::{self, Pack, lanes};

/// The number of threads of a block is 2 to this power.
pub const LOG_THREADS: usize = THREADS.ilog2() as usize;

/// The value of `log_width` that joins all rows.
pub const JOINED: usize = LOG_THREADS + 1;

/// The fewest samples of a joined row: the outputs before the first whole pack, at most three, are
/// then all of row 0.
pub const LEAST_JOINED: usize = 4;

/// A joined row has fewer samples than this: 32 bits count [`MOST_JOINED`] and two rows more.
pub const MOST_OF_ROW: usize = 1 << 30;

/// All joined rows have fewer samples than this.
pub const MOST_JOINED: usize = 1 << 31;

/// Rows of which a thread of narrow rows takes an output each.
pub const ABREAST: usize = 4;

/// y\[i\] = Σₖ taps\[k\] · signal\[i + offset − k\] for every i of each row of `output`, summed in
/// tap order.
///
/// # Parameters
/// - `signal`: rows of n samples. `taps`: rows of m taps.
/// - `offset`: see [the module](super).
/// - `samples`, `count`, `outputs`: a row's samples, taps and outputs.
/// - `signal_pitch`, `taps_pitch`: distances between rows; 0 if there is one for all.
/// - `log_width`: [`LOG_THREADS`] for wide rows, less for narrow ones, [`JOINED`] for joined ones.
///   Wide and joined rows have at most [`MAX_TAPS`] taps. Joined ones share them, have no more than
///   samples, as many outputs as samples, at least [`LEAST_JOINED`] and fewer than [`MOST_OF_ROW`], in
///   all fewer than [`MOST_JOINED`], no gaps, and an offset below the number of taps.
///
/// # Launch
/// At most 2²⁹ blocks of [`THREADS`] threads along x. Along y and z: at least one for each wide row,
/// any number for narrow rows, one for joined rows. No dynamic shared memory.
#[kernel(
    instances(f32, f64),
    max_threads = 128,
    min_blocks = 5,
    require(
        count > 0,
        log_width < LOG_THREADS || count <= MAX_TAPS,
        log_width <= JOINED,
        log_width < JOINED
            || samples >= LEAST_JOINED
                && [outputs, signal_pitch, taps_pitch] == [samples, samples, 0]
                && count <= samples
                && offset < count
                && samples < MOST_OF_ROW
                && output.len() < MOST_JOINED
                && [grid.y, grid.z] == [1; 2],
        block.x == THREADS,
        grid.x <= 1 << 29,
        outputs / window::span::<T>() < 1 << 31,
        offset.checked_add(outputs).is_some(),
        [block.y, block.z] == [1; 2],
        log_width == JOINED
            || super::matrix::are_layers(
                [grid.y, grid.z],
                1 << (LOG_THREADS - log_width),
                outputs,
                super::matrix::rows_of(output.len(), outputs)
            ),
        super::matrix::are_rows(
            super::matrix::rows_of(output.len(), outputs),
            [output.len(), outputs],
            [[signal.len(), samples, signal_pitch], [taps.len(), count, taps_pitch]]
        )
    )
)]
#[allow(clippy::too_many_arguments, reason = "rows have lengths")]
pub fn conv1d_rows<T: Real>(
    signal: &[T],
    taps: &[T],
    mut output: Out<T>,
    offset: usize,
    samples: usize,
    count: usize,
    outputs: usize,
    signal_pitch: usize,
    taps_pitch: usize,
    log_width: usize,
) {
    const LANES: usize = lanes::<T>();
    const OUTPUTS: usize = window::PACKS * LANES;
    let joined = log_width == JOINED;
    let log_width = log_width.min(LOG_THREADS) as u32;
    let of_block = THREADS >> log_width;
    let (mut all, output) = (output.len(), output.as_mut_ptr());
    let row = row_of_layers() * of_block;
    if row as usize * outputs >= all {
        return;
    }
    let of = |row: u32| {
        // SAFETY: `require` states that rows that begin within the output exist.
        unsafe {
            (
                row_of(signal, row, samples, signal_pitch),
                row_of(taps, row, count, taps_pitch),
                output.add(start(row, outputs)),
            )
        }
    };
    let tiles = shared_array![Pack<T, LANES>; WARPS * STAGES * stage::<T>()];
    let shared_taps = shared_array![Pack<T, LANES>; tap_packs::<T>()];
    // Outputs that are computed one by one: all, or those before the first whole pack.
    let mut single = outputs;
    if log_width == LOG_THREADS as u32 {
        let (mut wide, taps, output) = of(row);
        let mut outputs = outputs;
        single = pack::elements_before(output).min(outputs);
        if joined {
            // Only the single ones are left then, and they are of row 0.
            (wide, outputs, all) = (signal, all, single);
        }
        let rows = Joined {
            signal,
            taps,
            samples: samples as u32,
            offset: offset as u32,
        };
        // SAFETY: `require` states the number of taps, the block, a grid and an output whose tiles
        // 32 bits count, and the largest index; the arrays have the stated sizes. Joined rows have
        // as many outputs as samples, which 32 bits count.
        unsafe {
            let output = output.add(single);
            let rest = ptr::slice_from_raw_parts_mut(output, outputs - single);
            let from = offset + single;
            convolve::<T, LANES, OUTPUTS>(
                wide,
                taps,
                rest,
                from,
                tiles,
                shared_taps,
                |first| {
                    if joined {
                        rows.write_ends(output.add(first), (from + first) as u32);
                    }
                },
                |i| match joined {
                    true => rows.at((from + i) as u32),
                    false => convolve_one(wide, taps, i + from),
                },
            );
        }
    }

    let thread = thread::thread_idx_x();
    let mut row = row + (thread >> log_width);
    let first = (thread::block_idx_x() as usize) << log_width;
    let first = first + (thread & ((1 << log_width) - 1)) as usize;
    let across = (thread::grid_dim_x() as usize) << log_width;
    let down = thread::grid_dim_y() * thread::grid_dim_z() * of_block;
    while row as usize * outputs < all {
        let last = row as usize + (ABREAST - 1) * down as usize;
        // The product of 32 bits each does not overflow.
        let counted = (last | outputs) >> 32 == 0;
        let abreast = taps_pitch == 0 && counted && last * outputs < all;
        let mut at = first;
        while at < single {
            // SAFETY: `at` is below the outputs of these rows, which exist; no other thread has
            // them.
            unsafe {
                if abreast {
                    let rows: [_; ABREAST] = core::array::from_fn(|i| of(row + i as u32 * down));
                    put::<T, ABREAST, 4>(rows, at, offset);
                } else {
                    put::<T, 1, 16>([of(row)], at, offset);
                }
            }
            at += across;
        }
        row += if abreast { ABREAST as u32 * down } else { down };
    }
}

/// Joined rows. Outputs are numbered as in the full convolution of one signal: the first is
/// `offset`, and output c needs sample c and those before it.
struct Joined<'a, T> {
    signal: &'a [T],
    taps: &'a [T],
    samples: u32,
    offset: u32,
}

impl<T: Real> Joined<'_, T> {
    /// Writes those outputs of a tile whose taps reach into another row: those at the first samples
    /// of each row, one less than there are taps.
    ///
    /// # Safety
    /// A whole warp calls it, of whose tile `tile` is the first output, with number `from`. No other
    /// warp has these outputs.
    #[inline(always)]
    unsafe fn write_ends(&self, tile: *mut T, from: u32) {
        let (each, samples) = (self.taps.len() as u32 - 1, self.samples);
        if each == 0 {
            return;
        }
        // Orders the tile's stores before those that overwrite them.
        // SAFETY: the whole warp is here, and `require` states that there are samples.
        unsafe {
            warp::sync_warp(u32::MAX);
            assert_unchecked(samples > 0);
        }
        let to = u64::from(from) + window::span::<T>() as u64;
        // The first row that has such outputs in this tile. Some of them may be before it.
        let first = ((u64::from(from) + u64::from(samples - each)) as u32) / samples;
        let mut number = thread::thread_idx_x() % 32;
        loop {
            let row = u64::from(first + number / each) * u64::from(samples);
            let at = row + u64::from(number % each);
            if at >= to {
                break;
            }
            if at >= u64::from(from) {
                let at = at as u32;
                // SAFETY: this output is in the tile, and no other lane has it.
                unsafe { tile.add((at - from) as usize).write(self.at(at)) };
            }
            number += 32;
        }
    }

    /// Output `at`.
    ///
    /// # Safety
    /// `at` is at least `offset`, and less than that plus the number of outputs.
    #[inline(always)]
    unsafe fn at(&self, at: u32) -> T {
        // SAFETY: `require` states that there are samples.
        unsafe { assert_unchecked(self.samples > 0) };
        let row = (at - self.offset) / self.samples;
        let begin = row as usize * self.samples as usize;
        let mut sum = [T::ZERO];
        // SAFETY: rows of outputs have rows of samples.
        unsafe {
            let signal = self.signal.as_ptr().add(begin);
            let signal = core::slice::from_raw_parts(signal, self.samples as usize);
            sum_rows::<T, 1, 4>([signal], self.taps, at as usize - begin, &mut sum);
        }
        sum[0]
    }
}

/// Output `at` of some rows that share the taps, GROUP taps at a time.
///
/// # Safety
/// The rows have equally many samples, and this output, which no other thread has; `at` plus the
/// offset plus 1 does not overflow.
#[inline(always)]
unsafe fn put<T: Real, const ROWS: usize, const GROUP: usize>(
    rows: [(&[T], &[T], *mut T); ROWS],
    at: usize,
    offset: usize,
) {
    let (signals, taps) = (rows.map(|row| row.0), rows[0].1);
    let mut sums = [T::ZERO; ROWS];
    // SAFETY: the caller's promise.
    unsafe {
        sum_rows::<T, ROWS, GROUP>(signals, taps, at + offset, &mut sums);
        unrolled::<ROWS>(|i| rows[i].2.add(at).write(sums[i]));
    }
}

/// Adds the products of output `centre` of the full convolution of some rows, GROUP taps at a time.
///
/// # Safety
/// The rows have equally many samples; `centre` + 1 does not overflow.
#[inline(always)]
unsafe fn sum_rows<T: Real, const ROWS: usize, const GROUP: usize>(
    rows: [&[T]; ROWS],
    taps: &[T],
    centre: usize,
    sums: &mut [T; ROWS],
) {
    let inside = taps_inside(centre, rows[0].len(), taps.len());
    in_groups::<GROUP>(inside, |k| {
        // SAFETY: k is below the number of taps, and its sample exists.
        unsafe {
            let tap = *taps.get_unchecked(k);
            unrolled::<ROWS>(|i| {
                sums[i] = tap.mul_add(*rows[i].get_unchecked(centre - k), sums[i]);
            });
        }
    });
}
