//! The last kernel of a long transform: it computes again the pairs of windows that are divided
//! (`quiet.rs`), one per block.
//!
//! The marks of a pair's columns say whether it is divided. If so, the outputs that the columns'
//! last pass wrote are replaced: the block measures the runs, and takes each level through the same
//! three passes as the grid did, with a barrier between them. A block has room for one transform.
//! Pairs are independent, so as many blocks work at once as there is room for.

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::butterfly::{Of, transform};
use super::columns::{RADIX, turn};
use super::complex::{Complex, Transformed, read_number, write_number};
use super::kernels::worker;
use super::operands::Operands;
use super::outputs::Outputs;
use super::passes::Worker;
use super::quiet::{self, Gain, Mark, Runs};
use super::rows;
use super::shape::*;
use crate::here::zero_here;

/// What the passes need besides the operands.
struct Tables<T: Transformed> {
    /// The columns' table of roots.
    roots: *const Complex<T>,
    marks: *const Mark,
    /// Room for a transform.
    points: *mut Complex<T>,
}

/// Whether a pair of windows must be divided. All threads get the same answer.
///
/// # Safety
/// All threads of a block of the shape call it, with its shared memory; `marks` points to the
/// pair's.
#[inline(always)]
unsafe fn is_divided<S: Shape, T: Transformed>(
    worker: Worker<T>,
    marks: *const Mark,
    is_usual: bool,
) -> bool {
    let (mut loudest, mut quietest) = (0, u32::MAX);
    let mut at = worker.thread;
    while at < marks_len(S::POINTS) / 2 {
        // SAFETY: the caller's promise.
        let [loud, quiet] = unsafe { marks.add(at).read() };
        loudest = loud.max(loudest);
        quietest = quiet.min(quietest);
        at += S::THREADS;
    }
    // SAFETY: the caller's promise.
    let vote = unsafe {
        let quietest = quiet::least(quietest);
        worker.write_mark::<S>([quiet::most(loudest), quietest]);
        // Orders every warp's mark before any thread's reads of marks.
        thread::sync_threads();
        let [loudest, _] = worker.mark::<S>(worker.thread % quiet::warps::<S>());
        !is_usual || quiet::divides::<T>(loudest, quietest)
    };
    // Orders every thread's reads of marks before any warp's mark of the next pair.
    thread::sync_threads_or(u32::from(vote)) != 0
}

/// Computes the outputs of a pair of windows level by level.
///
/// # Safety
/// All threads of a block of the shape call it, with its shared memory and tables; nothing else
/// uses these outputs and the room for a transform.
#[inline(always)]
unsafe fn convolve<S: Shape, T: Transformed, const E: usize, const LENGTH: usize>(
    worker: Worker<T>,
    of: &Operands<'_, T>,
    tables: &Tables<T>,
    gain: Gain,
    outputs: Outputs,
) {
    const { assert!(LENGTH * LONG_RUNS == ROWS * S::POINTS) };
    let columns = S::POINTS;
    let thread = worker.thread;
    // SAFETY: the caller's promise. Each barrier orders what a pass wrote before the next pass's
    // reads, and a pass's reads before later writes.
    unsafe {
        let runs = Runs::<LONG_RUNS, LENGTH>::new(worker.after_marks::<S>());
        outputs.by_levels(of, runs, gain, [thread, S::THREADS], |level| {
            // 0 there and 1 back, which LLVM must not know: the columns' code is there once.
            let mut back = zero_here();
            loop {
                let mut column = thread;
                while column < columns {
                    let (at, roots) = (tables.points.add(column), tables.roots.add(column));
                    // Loops over places, because they need few registers.
                    let mut place = column;
                    while back == 0 && place < ROWS * columns {
                        let starts = outputs.starts(of);
                        let parts = runs.parts(level, gain.ceiling(), of.signal, starts, place);
                        write_number(tables.points.add(place), parts);
                        place += columns;
                    }
                    let mut points = [Complex::zero(); RADIX];
                    unrolled::<RADIX>(|r| points[r] = read_number(at.add(r * columns)));
                    if back > 0 {
                        turn(&mut points, roots, columns);
                    }
                    transform::<_, Of<RADIX>, _>(&mut points, 0);
                    if back == 0 {
                        turn(&mut points, roots, columns);
                    }
                    unrolled::<RADIX>(|r| write_number(at.add(r * columns), points[r]));
                    while back > 0 && place < ROWS * columns {
                        let point = read_number(tables.points.add(place));
                        outputs.add(of, runs, place, level.back(gain), point);
                        place += columns;
                    }
                    column += S::THREADS;
                }
                if back > 0 {
                    break;
                }
                thread::sync_threads();
                let (spectrum, points) = (of.spectrum, tables.points);
                rows::convolve::<S, T, E>(worker, spectrum, points, 0..RADIX, 1, None);
                thread::sync_threads();
                back += 1 + zero_here();
            }
        });
    }
}

macro_rules! kernels {
    ($($Shape:ident, $points:literal each, $threads:literal threads, ($t:ident): $levels:ident;)*) => {$(
        /// Computes the outputs of the pairs of windows that are divided; the others' stay as they
        /// are.
        ///
        /// # Parameters
        /// - `signal`: n samples. `taps`: m ≥ 1 taps.
        /// - `spectrum`: the taps' rows and gain. `factors`: the shape's [`factors`]. `roots`: of
        ///   its columns. All are aligned to 16 bytes.
        /// - `marks`: the marks of all pairs of windows.
        /// - `points`: room for a transform of 32 rows for each block; overwritten.
        /// - `output`: as the other passes wrote it.
        /// - `offset`, `shift`: as in the other passes.
        ///
        /// # Launch
        /// One-dimensional, blocks of the shape's threads, with [`levels_bytes`]. The grid strides
        /// over pairs of windows.
        #[kernel(
            instances($t),
            max_threads = $threads,
            min_blocks = 1,
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
                points.len() >= grid.x as usize * ROWS * transform_len::<$Shape>(),
                marks.len() >= marks_len($Shape::POINTS) * output.len().div_ceil(
                    2 * (ROWS * $Shape::POINTS - discarded(taps.len(), shift))
                ),
                offset.checked_add(output.len()).is_some(),
                block.x == $threads,
                shared_bytes as usize >= self::levels_bytes::<$Shape, T>(),
                [grid.y, grid.z, block.y, block.z] == [1; 4]
            )
        )]
        #[allow(clippy::too_many_arguments, reason = "all passes in one")]
        pub fn $levels<T: Transformed>(
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
        ) {
            const SIZE: usize = ROWS * $Shape::POINTS;
            let of = Operands {
                signal,
                taps,
                spectrum: spectrum.as_ptr().cast(),
                output: core::ptr::slice_from_raw_parts_mut(output.as_mut_ptr(), output.len()),
                offset,
                shift,
            };
            let kept = SIZE - discarded(taps.len(), shift);
            let mut pair = thread::block_idx_x() as usize;
            // SAFETY: `require` states all of it; a block has its own room, and no pair is
            // another's.
            unsafe {
                let worker = worker(factors);
                let gain = Gain::read(of.spectrum.add(SIZE / 2).read());
                let tables = Tables {
                    roots: roots.as_ptr().cast(),
                    marks: marks.as_ptr().cast(),
                    points: points.as_mut_ptr().cast::<Complex<T>>().add(pair * SIZE),
                };
                while pair * 2 * kept < output.len() {
                    let first = pair * 2 * kept;
                    let marks = tables.marks.add(pair * (marks_len($Shape::POINTS) / 2));
                    if is_divided::<$Shape, T>(worker, marks, gain.is_usual()) {
                        let outputs = Outputs::new(&of, SIZE, first);
                        convolve::<$Shape, T, $points, { $Shape::POINTS * ROWS / LONG_RUNS }>(
                            worker, &of, &tables, gain, outputs,
                        );
                    }
                    pair += thread::grid_dim_x() as usize;
                }
            }
        }
    )*};
}

kernels! {
    Points2048, 16 each, 128 threads, (f32): conv1d_fft_levels2048;
    Points4096, 16 each, 256 threads, (f32): conv1d_fft_levels4096;
    Points4096, 16 each, 256 threads, (f64): conv1d_fft_levels4096_wide;
    Points8192, 32 each, 256 threads, (f32): conv1d_fft_levels8192;
    Points16384, 32 each, 512 threads, (f32): conv1d_fft_levels16384;
}
