//! Convolution of each row of a matrix by direct sums: [`window`] for a row of the
//! grid each, and for short rows a thread for each output.
//!
//! A kernel of its own, because a row's addresses in `window` slowed down single signals
//! (docs/log/2026-11-27-rows.md). Every output adds its taps in order: a row has the bits that it
//! has by itself.
//!
//! - Wide: a block's row comes from its place along y and z. Tiles begin at the row's first whole
//!   pack, wherever that is; the outputs before it are computed one by one.
//! - Narrow: 2^`log_width` adjacent threads take a row's outputs one by one, so that short rows
//!   share a block. The grid strides over rows too, and where rows share the taps a thread takes
//!   [`ABREAST`] of them at a time: loads bound it, and one of a tap then serves four sums. There
//!   may be any number of taps.

use core::ptr;

use cuda_std::prelude::*;
use cuda_std::unroll::{in_groups, unrolled};

use super::matrix::{row_of, row_of_layers, start};
use super::taps_inside;
use super::window::{self, MAX_TAPS, STAGES, THREADS, WARPS, convolve, stage, tap_packs};
use crate::number::Real;
use crate::pack::{self, Pack, lanes};

/// The number of threads of a block is 2 to this power.
pub const LOG_THREADS: usize = THREADS.ilog2() as usize;

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
/// - `log_width`: [`LOG_THREADS`], for at most [`MAX_TAPS`] taps, or less.
///
/// # Launch
/// At most 2²⁹ blocks of [`THREADS`] threads along x. Along y and z one for each row, or more;
/// with a smaller width any number. No dynamic shared memory.
#[kernel(
    instances(f32, f64),
    max_threads = 128,
    min_blocks = 5,
    require(
        count > 0,
        log_width < LOG_THREADS || count <= MAX_TAPS,
        log_width <= LOG_THREADS,
        block.x == THREADS,
        grid.x <= 1 << 29,
        outputs / window::span::<T>() < 1 << 31,
        offset.checked_add(outputs).is_some(),
        [block.y, block.z] == [1; 2],
        super::matrix::are_layers(
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
    let log_width = log_width as u32;
    let of_block = THREADS >> log_width;
    let (all, output) = (output.len(), output.as_mut_ptr());
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
    // Outputs that are computed one by one: all, or those before the row's first whole pack.
    let mut single = outputs;
    if log_width == LOG_THREADS as u32 {
        let (signal, taps, output) = of(row);
        single = pack::elements_before(output).min(outputs);
        // SAFETY: `require` states the number of taps, the block, a grid and an output whose tiles
        // 32 bits count, and the largest index; the arrays have the stated sizes.
        unsafe {
            let rest = ptr::slice_from_raw_parts_mut(output.add(single), outputs - single);
            let offset = offset + single;
            convolve::<T, LANES, OUTPUTS>(signal, taps, rest, offset, tiles, shared_taps);
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

/// Output `at` of some rows that share the taps, GROUP taps at a time.
///
/// # Safety
/// The rows have equally many samples, and this output, which no other thread has.
#[inline(always)]
unsafe fn put<T: Real, const ROWS: usize, const GROUP: usize>(
    rows: [(&[T], &[T], *mut T); ROWS],
    at: usize,
    offset: usize,
) {
    let (signal, taps, _) = rows[0];
    let centre = at + offset;
    let inside = taps_inside(centre, signal.len(), taps.len());
    let mut sums = [T::ZERO; ROWS];
    in_groups::<GROUP>(inside, |k| {
        // SAFETY: k is below the number of taps, and its sample exists.
        unsafe {
            let tap = *taps.get_unchecked(k);
            unrolled::<ROWS>(|i| {
                sums[i] = tap.mul_add(*rows[i].0.get_unchecked(centre - k), sums[i]);
            });
        }
    });
    // SAFETY: the caller's promise.
    unrolled::<ROWS>(|i| unsafe { rows[i].2.add(at).write(sums[i]) });
}
