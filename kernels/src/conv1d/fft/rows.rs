//! The rows of a long transform, contiguous in global memory: the second of its passes.

use core::ops::Range;

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::columns::RADIX;
use super::complex::{Complex, Pair, Transformed, read_number, write_number};
use super::kernels::worker;
use super::passes::{MOST_AHEAD, Worker};
use super::quiet::{self, Gain};
use super::shape::*;
use super::window::{multiply, scale, store_spectrum};
use crate::here::zero_here;

/// Loads a row's points.
///
/// # Safety
/// `row` points to this thread's first point of a row of the shape.
#[inline(always)]
unsafe fn load<S: Shape, T: Transformed, const E: usize>(
    row: *const Complex<T>,
) -> [Complex<T>; E] {
    let mut points = [Complex::zero(); E];
    unrolled::<32>(|e| {
        if e < E {
            // SAFETY: the caller's promise.
            points[e] = unsafe { read_number(row.add(place::<S>(e))) };
        }
    });
    points
}

/// The taps instead of rows to convolve, if there are marks.
#[derive(Clone, Copy)]
struct Taps<'a, T: Transformed> {
    /// Rows of the taps, as the columns' pass wrote them.
    points: *const Complex<T>,
    /// Their marks.
    marks: &'a [u32],
    spectrum: *mut Pair<T>,
}

impl<T: Transformed> Taps<'_, T> {
    /// Whether there are marks: asked anew each time, so that there is no copy of a transform for
    /// each answer.
    #[inline(always)]
    fn are_given(self) -> bool {
        self.marks.len() + zero_here() > 0
    }

    /// Loads a row and marks it.
    ///
    /// # Safety
    /// As for [`convolve`].
    #[inline(always)]
    unsafe fn load<S: Shape, const E: usize>(
        self,
        worker: Worker<T>,
        row: usize,
    ) -> [Complex<T>; E] {
        // SAFETY: the caller's promise.
        unsafe {
            // These loads are in flight while the marks are read.
            let points = load::<S, T, E>(self.points.add(row * S::POINTS + worker.thread));
            const { assert!(marks_len(S::POINTS) <= 2 * S::THREADS) };
            let loudest = self.marks.get(2 * worker.thread).map_or(0, |&mark| mark);
            worker.write_mark::<S>([quiet::most(loudest), 0]);
            points
        }
    }

    /// Writes a row's spectrum, and the gain after all rows.
    ///
    /// # Safety
    /// As for [`convolve`].
    #[inline(always)]
    unsafe fn store<S: Shape, const E: usize>(
        self,
        worker: Worker<T>,
        row: usize,
        points: &mut [Complex<T>; E],
    ) {
        let log_points = (RADIX * S::POINTS).ilog2();
        // SAFETY: the caller's promise. A barrier in `forward` orders every warp's mark before
        // these reads.
        unsafe {
            let [loudest, _] = worker.mark::<S>(worker.thread % quiet::warps::<S>());
            let gain = Gain::new::<T>(quiet::most(loudest), log_points);
            scale(points, gain.factor(log_points));
            if row == 0 && worker.thread == 0 {
                let after = self.spectrum.add(RADIX * S::POINTS / 2);
                after.write(gain.written());
            }
            let to = row * (S::POINTS / 2) + worker.thread;
            store_spectrum::<S, T, E>(points, self.spectrum.add(to));
        }
    }
}

/// Convolves the rows `rows.start`, `rows.start + step`, … in place. With marks of taps, writes
/// these rows of their spectrum instead.
///
/// # Safety
/// All threads of a block of the shape call it, with its shared array and table. `points` points to
/// rows, of which nothing else uses these; `spectrum` to [`RADIX`] rows. With taps a block has one
/// row, and shared memory for marks; nothing else uses this row of their spectrum.
#[inline(always)]
unsafe fn convolve<S: Shape, T: Transformed, const E: usize>(
    worker: Worker<T>,
    spectrum: *const Pair<T>,
    points: *mut Complex<T>,
    rows: Range<usize>,
    step: usize,
    taps: Taps<'_, T>,
) {
    let thread = worker.thread;
    let mut row = rows.start;
    while row < rows.end {
        // SAFETY: the caller's promise.
        unsafe {
            let first = points.add(row * S::POINTS + thread);
            let mut points = match taps.are_given() {
                true => taps.load::<S, E>(worker, row),
                false => load::<S, T, E>(first),
            };
            let factors = spectrum.add(row % RADIX * (S::POINTS / 2) + thread);
            let pairs = worker.ahead::<S, 0>(MOST_AHEAD);
            let ahead = worker.forward::<S, E, true>(&mut points, pairs, Some(factors));
            if taps.are_given() {
                return taps.store::<S, E>(worker.here(), row, &mut points);
            }
            multiply::<S, T, E>(&mut points, factors, ahead);
            worker.inverse::<S, E, true>(&mut points, false);
            unrolled::<32>(|e| {
                if e < E {
                    write_number(first.add(place::<S>(e)), points[e]);
                }
            });
        }
        row += step;
    }
}

macro_rules! kernels {
    ($($Shape:ident, $points:literal each, $threads:literal threads, $blocks:literal blocks, ($t:ident): $rows:ident;)*) => {$(
        /// Transforms each row, multiplies it by its row of the taps' spectrum, and transforms back
        /// with swapped parts.
        ///
        /// # Parameters
        /// - `spectrum`: the taps' 32 rows and their gain. `factors`: the shape's [`factors`].
        /// - `points`: whole transforms of 32 rows. All are aligned to 16 bytes.
        ///
        /// # Launch
        /// One-dimensional, blocks of the shape's threads, with [`rows_bytes`]. The grid strides
        /// over rows.
        ///
        /// # The taps' spectrum
        /// With `marks`, `spectrum` has the taps' rows after the columns' pass, which wrote the
        /// marks, and a block for each row writes their spectrum and gain to `points`.
        #[kernel(
            instances($t),
            max_threads = $threads,
            min_blocks = $blocks,
            require(
                marks.is_empty() || marks.len() == marks_len($Shape::POINTS),
                marks.is_empty() || spectrum.len() == RADIX * transform_len::<$Shape>(),
                marks.is_empty() || points.len() == long_spectrum_len::<$Shape>(),
                marks.is_empty() || grid.x as usize == RADIX,
                !marks.is_empty() || spectrum.len() == long_spectrum_len::<$Shape>(),
                !marks.is_empty() || points.len().is_multiple_of(RADIX * transform_len::<$Shape>()),
                factors.len() == factors_len::<$Shape>(),
                spectrum.is_aligned_to(16),
                factors.is_aligned_to(16),
                points.is_aligned_to(16),
                block.x == $threads,
                shared_bytes as usize >= self::rows_bytes::<$Shape, T>(),
                [grid.y, grid.z, block.y, block.z] == [1; 4]
            )
        )]
        pub fn $rows<T: Transformed>(
            spectrum: &[T],
            factors: &[T],
            marks: &[u32],
            mut points: Out<T>,
        ) {
            let rows = points.len() / transform_len::<$Shape>();
            let points = points.as_mut_ptr().cast::<Complex<T>>();
            let taps = Taps {
                points: spectrum.as_ptr().cast(),
                marks,
                spectrum: points.cast(),
            };
            let spectrum = spectrum.as_ptr().cast();
            // SAFETY: `require` states all of it.
            unsafe {
                let rows = thread::block_idx_x() as usize..rows;
                let step = thread::grid_dim_x() as usize;
                let worker = worker(factors);
                convolve::<$Shape, T, $points>(worker, spectrum, points, rows, step, taps)
            }
        }
    )*};
}

kernels! {
    Points2048, 16 each, 128 threads, 6 blocks, (f32): conv1d_fft_rows2048;
    Points4096, 16 each, 256 threads, 2 blocks, (f32): conv1d_fft_rows4096;
    Points4096, 16 each, 256 threads, 1 blocks, (f64): conv1d_fft_rows4096_wide;
    Points8192, 32 each, 256 threads, 2 blocks, (f32): conv1d_fft_rows8192;
    Points16384, 32 each, 512 threads, 1 blocks, (f32): conv1d_fft_rows16384;
}
