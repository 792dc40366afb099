//! The last pass of a long transform: it transforms the columns back and writes the outputs.
//!
//! The marks of a pair's columns say whether the pair is divided (`quiet.rs`). If so, one block
//! computes its outputs instead: it measures the runs, and transforms each level in small steps
//! (`rolled.rs`). One step of two points and two of four work in global memory, in the room of the
//! pair's points, which are not needed then; the others work row by row in shared memory. Pairs are
//! independent: as many blocks work at once as have room.

use cuda_std::prelude::*;
use cuda_std::uniform::assume_block_uniform;
use cuda_std::unroll::unrolled;

use super::columns::{RADIX, powers, transform_back};
use super::complex::{Complex, Pair, Transformed, read_number, write_number};
use super::kernels::worker;
use super::operands::Operands;
use super::outputs::Outputs;
use super::passes::Worker;
use super::quiet::{self, Gain, Mark, Runs};
use super::rolled::{self, Roots};
use super::shape::*;
use crate::conv1d::matrix::{Pairs, row_of, start};

/// Whether a pair of windows must be divided, by its marks. Each warp reads all of them, so that
/// none waits for another.
///
/// # Safety
/// All threads of a block of the shape call it; `marks` points to the pair's.
#[inline(always)]
unsafe fn is_divided<S: Shape, T: Transformed>(
    marks: *const Mark,
    is_usual: bool,
    lane: usize,
) -> bool {
    let (mut loudest, mut quietest) = (0, u32::MAX);
    unrolled::<16>(|i| {
        if 32 * i < const { marks_len(S::POINTS) / 2 } {
            // SAFETY: the caller's promise.
            let [loud, quiet] = unsafe { marks.add(32 * i + lane).read() };
            loudest = loud.max(loudest);
            quietest = quiet.min(quietest);
        }
    });
    // SAFETY: the caller's promise; all warps have read the same marks.
    unsafe {
        let [loudest, quietest] = [quiet::most(loudest), quiet::least(quietest)];
        let divides = !is_usual || quiet::divides::<T>(loudest, quietest);
        assume_block_uniform(u32::from(divides)) != 0
    }
}

/// Computes the outputs of a pair of windows, the first of which is `first`, level by level.
///
/// # Safety
/// All threads of a block of the shape call it, with its shared memory and tables; nothing else
/// uses these outputs and the room for a transform.
#[inline(always)]
unsafe fn convolve<S: Shape, T: Transformed, const LENGTH: usize>(
    worker: Worker<T>,
    of: &Operands<'_, T>,
    roots: *const Complex<T>,
    room: *mut Complex<T>,
    first: usize,
) {
    const { assert!(LENGTH * LONG_RUNS == ROWS * S::POINTS) };
    let (points, half) = (ROWS * S::POINTS, ROWS / 2 * S::POINTS);
    let (worker, of) = (worker.here(), &of.here());
    let threads = [worker.thread, S::THREADS];
    let outputs = Outputs::new(of, points, first);
    let roots = Roots::of_rows::<S>(worker, roots);
    let log = points.ilog2();
    // SAFETY: the caller's promise. Before the first step and after the last one, thread t alone
    // uses the room's places t, t + threads, t + 2 · threads, …
    unsafe {
        let gain = Gain::read(of.spectrum.add(points / 2).read());
        let runs = Runs::<LONG_RUNS, LENGTH>::new(worker.after_marks::<S>());
        outputs.by_levels(of, runs, gain, threads, |level| {
            // 32 rows take two steps of four points and one of two. The one of two is here: first
            // on the way there, last on the way back.
            let mut place = worker.thread;
            while place < points {
                let starts = outputs.starts(of);
                let mut part = runs.parts(level, gain.ceiling(), of.signal, starts, place);
                if place >= half {
                    let at = room.add(place - half);
                    let earlier = read_number(at);
                    write_number(at, earlier + part);
                    part = (earlier - part) * roots.root(place - half);
                }
                write_number(room.add(place), part);
                place += S::THREADS;
            }
            let rows = || {
                let mut row = 0;
                while row < ROWS {
                    let points = room.add(row * S::POINTS);
                    worker.places::<S>(|place, slot| {
                        write_number(slot, read_number(points.add(place)));
                    });
                    let spectrum = of.spectrum.cast::<Complex<T>>();
                    let number = rolled::reversed(row, ROWS.ilog2());
                    rolled::convolve::<S, T>(worker, spectrum.add(number * S::POINTS));
                    worker.places::<S>(|place, slot| {
                        write_number(points.add(place), read_number(slot));
                    });
                    row += 1;
                }
            };
            let at = |place: usize| room.wrapping_add(place);
            rolled::there_and_back(at, threads, roots, log, [log - 3, log - 5], rows);
            let mut place = worker.thread;
            while place < points {
                let mut point = read_number(room.add(place));
                if place < half {
                    let at = room.add(place + half);
                    let later = read_number(at) * roots.root(place);
                    write_number(at, point - later);
                    point = point + later;
                }
                outputs.add(of, runs, place, level.back(gain), point);
                place += S::THREADS;
            }
        });
    }
}

macro_rules! kernels {
    ($($Shape:ident, $threads:literal threads, $blocks:literal blocks, ($t:ident): $outputs:ident;)*) => {$(
        /// Transforms the columns of products back, and writes the outputs that are kept; those of
        /// divided pairs of windows level by level.
        ///
        /// # Parameters
        /// - `signal`: rows of n samples. `taps`: m ≥ 1 taps.
        /// - `spectrum`: the taps' rows and gain. `factors`: the shape's [`factors`]. `roots`: of
        ///   its columns. All are aligned to 16 bytes.
        /// - `marks`: the marks of these pairs of windows.
        /// - `points`: the rows of products, with swapped parts; overwritten.
        /// - `output`: rows of `outputs` outputs.
        /// - `offset`, `shift`: as for transforms in shared memory.
        /// - `before`, `pairs`, `each`, `samples`, `pitch`: as in the first pass.
        ///
        /// # Launch
        /// One-dimensional, blocks of the shape's threads, with [`levels_bytes`]. The grid strides
        /// over columns.
        #[kernel(
            instances($t),
            max_threads = $threads,
            min_blocks = $blocks,
            require(
                !taps.is_empty(),
                shift < 32,
                discarded(taps.len(), shift) < ROWS * $Shape::POINTS,
                spectrum.len() == long_spectrum_len::<$Shape>(),
                factors.len() == factors_len::<$Shape>(),
                roots.len() == super::columns::roots_len($Shape::POINTS),
                spectrum.is_aligned_to(16),
                factors.is_aligned_to(16),
                roots.is_aligned_to(16),
                points.is_aligned_to(16),
                ROWS * transform_len::<$Shape>() <= points.len() / pairs.max(1),
                marks_len($Shape::POINTS) <= marks.len() / pairs.max(1),
                offset.checked_add(outputs).is_some(),
                each == outputs.div_ceil(
                    2 * (ROWS * $Shape::POINTS - discarded(taps.len(), shift))
                ),
                crate::conv1d::matrix::have_pairs(
                    [before, pairs, each],
                    [[signal.len(), samples, pitch], [output.len(), outputs, outputs]]
                ),
                block.x == $threads,
                shared_bytes as usize >= self::levels_bytes::<$Shape, T>(),
                [grid.y, grid.z, block.y, block.z] == [1; 4]
            )
        )]
        #[allow(clippy::too_many_arguments, reason = "levels take all passes")]
        pub fn $outputs<T: Transformed>(
            signal: &[T],
            taps: &[T],
            spectrum: &[T],
            factors: &[T],
            roots: &[T],
            marks: &[u32],
            mut points: Out<T>,
            mut output: Out<T>,
            offset: usize,
            shift: usize,
            before: usize,
            pairs: usize,
            each: usize,
            samples: usize,
            outputs: usize,
            pitch: usize,
        ) {
            const COLUMNS: usize = $Shape::POINTS;
            const SIZE: usize = ROWS * COLUMNS;
            /// Blocks that a pair takes.
            const PARTS: usize = COLUMNS / $threads;
            let thread = thread::thread_idx_x() as usize;
            let spectrum = spectrum.as_ptr().cast::<Pair<T>>();
            let roots = roots.as_ptr().cast::<Complex<T>>();
            let points = points.as_mut_ptr().cast::<Complex<T>>();
            let output = output.as_mut_ptr();
            let discarded = discarded(taps.len(), shift);
            let kept = SIZE - discarded;
            let mut part = thread::block_idx_x() as usize;
            while part / PARTS < pairs {
                let column = part % PARTS * $threads + thread;
                // SAFETY: `require` states all lengths, and that there are these rows. No other
                // thread has this column; the points and outputs of a divided pair are those of the
                // block with its first columns.
                unsafe {
                    let (row, number) = Pairs { before, each }.row_of(part / PARTS);
                    let first = number * 2 * kept;
                    let output = output.wrapping_add(start(row, outputs));
                    let room = points.add(part / PARTS * SIZE);
                    let marks = marks.as_ptr().cast::<Mark>();
                    let marks = marks.add(part / PARTS * (marks_len(COLUMNS) / 2));
                    let gain = Gain::read(spectrum.add(SIZE / 2).read());
                    // Loaded while the marks are in flight.
                    let powers = powers(roots.add(column), COLUMNS);
                    if !is_divided::<$Shape, T>(marks, gain.is_usual(taps.len()), thread % 32) {
                        let points = transform_back(room.add(column), &powers, COLUMNS);
                        store(&points, output.wrapping_add(first), outputs - first, [column, discarded, kept], COLUMNS);
                    } else if part % PARTS == 0 {
                        let of = Operands {
                            signal: row_of(signal, row, samples, pitch),
                            taps,
                            spectrum,
                            output: core::ptr::slice_from_raw_parts_mut(output, outputs),
                            offset,
                            shift,
                        };
                        convolve::<$Shape, T, { SIZE / LONG_RUNS }>(
                            worker(factors), &of, roots, room, first,
                        );
                        // Orders every thread's reads of the runs before the measurements of this
                        // block's next pair.
                        thread::sync_threads();
                    }
                }
                part += thread::grid_dim_x() as usize;
            }
        }
    )*};
}

/// Writes the points of a column that are kept, with swapped parts, to the outputs of a pair of
/// windows.
///
/// # Safety
/// `output` points to `len` elements, of which no other thread uses those of this column.
#[inline(always)]
unsafe fn store<T: Transformed>(
    points: &[Complex<T>; RADIX],
    output: *mut T,
    len: usize,
    [column, discarded, kept]: [usize; 3],
    columns: usize,
) {
    let (first_rest, second_rest) = (len.min(kept), len.saturating_sub(kept).min(kept));
    let skipped = column.wrapping_sub(discarded);
    let first = output.wrapping_add(skipped);
    let second = first.wrapping_add(kept);
    unrolled::<RADIX>(|r| {
        // Positions of discarded points have wrapped to large numbers.
        let at = (skipped as u32).wrapping_add((r * columns) as u32);
        // SAFETY: the caller's promise: `at` is below the window's rest.
        unsafe {
            if at < first_rest as u32 {
                first.wrapping_add(r * columns).write(points[r].im);
            }
            if at < second_rest as u32 {
                second.wrapping_add(r * columns).write(points[r].re);
            }
        }
    });
}

kernels! {
    Points2048, 128 threads, 4 blocks, (f32): conv1d_fft_outputs2048;
    Points4096, 256 threads, 2 blocks, (f32): conv1d_fft_outputs4096;
    Points4096, 256 threads, 1 blocks, (f64): conv1d_fft_outputs4096_wide;
    Points8192, 256 threads, 2 blocks, (f32): conv1d_fft_outputs8192;
    Points16384, 512 threads, 1 blocks, (f32): conv1d_fft_outputs16384;
}
