//! The rows of a long transform, contiguous in global memory: the second of its passes.

use core::ops::Range;

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::columns::RADIX;
use super::complex::{Complex, Pair, Transformed, read_number, write_number};
use super::kernels::worker;
use super::passes::Worker;
use super::quiet::{self, Gain};
use super::shape::*;
use super::window::{multiply, scale, store_spectrum};

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

/// Convolves the rows `rows.start`, `rows.start + step`, … in place.
///
/// # Safety
/// All threads of a block of the shape call it, with its shared array and table. `points` points to
/// rows, of which nothing else uses these; `spectrum` to [`RADIX`] rows.
#[inline(always)]
pub(super) unsafe fn convolve<S: Shape, T: Transformed, const E: usize>(
    worker: Worker<T>,
    spectrum: *const Pair<T>,
    points: *mut Complex<T>,
    rows: Range<usize>,
    step: usize,
) {
    let thread = worker.thread;
    let mut row = rows.start;
    while row < rows.end {
        // SAFETY: the caller's promise.
        unsafe {
            let first = points.add(row * S::POINTS + thread);
            let mut points = load::<S, T, E>(first);
            let factors = spectrum.add(row % RADIX * (S::POINTS / 2) + thread);
            let ahead =
                worker.forward::<S, E, true>(&mut points, Some(worker.ahead::<S>()), Some(factors));
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

/// Transforms one row of the taps per block, and writes its spectrum.
///
/// # Safety
/// As for [`convolve`], with one block per row; `spectrum` is written by nothing else.
#[inline(always)]
unsafe fn transform_taps<S: Shape, T: Transformed, const E: usize>(
    worker: Worker<T>,
    points: *const Complex<T>,
    marks: &[u32],
    spectrum: *mut Pair<T>,
) {
    let row = thread::block_idx_x() as usize;
    let log_points = (RADIX * S::POINTS).ilog2();
    // SAFETY: the caller's promise.
    unsafe {
        // These loads are in flight while the marks are read.
        let mut points = load::<S, T, E>(points.add(row * S::POINTS + worker.thread));
        let mut loudest = 0;
        let mut at = 2 * worker.thread;
        while let Some(&mark) = marks.get(at) {
            loudest = mark.max(loudest);
            at += 2 * S::THREADS;
        }
        worker.write_mark::<S>([quiet::most(loudest), 0]);
        worker.forward::<S, E, true>(&mut points, Some(worker.ahead::<S>()), None);
        // A barrier in `forward` orders every warp's mark before these reads.
        let [loudest, _] = worker.mark::<S>(worker.thread % quiet::warps::<S>());
        let gain = Gain::new::<T>(quiet::most(loudest), log_points);
        scale(&mut points, gain.factor(log_points));
        if row == 0 && worker.thread == 0 {
            spectrum.add(RADIX * S::POINTS / 2).write(gain.written());
        }
        store_spectrum::<S, T, E>(&points, spectrum.add(row * (S::POINTS / 2) + worker.thread));
    }
}

macro_rules! kernels {
    ($($Shape:ident, $points:literal each, $threads:literal threads, $blocks:literal blocks, ($t:ident): $rows:ident, $taps:ident;)*) => {$(
        /// Transforms each row, multiplies it by its row of the taps' spectrum, and transforms back
        /// with swapped parts.
        ///
        /// # Parameters
        /// - `spectrum`: 32 rows and the gain, written by the kernel for the taps. `factors`: the
        ///   shape's [`factors`].
        /// - `points`: whole transforms of 32 rows. All are aligned to 16 bytes.
        ///
        /// # Launch
        /// One-dimensional, blocks of the shape's threads, with [`transform_bytes`]. The grid
        /// strides over rows.
        #[kernel(
            instances($t),
            max_threads = $threads,
            min_blocks = $blocks,
            require(
                spectrum.len() == long_spectrum_len::<$Shape>(),
                points.len().is_multiple_of(RADIX * transform_len::<$Shape>()),
                factors.len() == factors_len::<$Shape>(),
                spectrum.is_aligned_to(16),
                factors.is_aligned_to(16),
                points.is_aligned_to(16),
                block.x == $threads,
                shared_bytes as usize >= self::transform_bytes::<$Shape, T>(),
                [grid.y, grid.z, block.y, block.z] == [1; 4]
            )
        )]
        pub fn $rows<T: Transformed>(spectrum: &[T], factors: &[T], mut points: Out<T>) {
            let rows = points.len() / transform_len::<$Shape>();
            let points = points.as_mut_ptr().cast();
            let spectrum = spectrum.as_ptr().cast();
            // SAFETY: `require` states all of it.
            unsafe {
                let rows = thread::block_idx_x() as usize..rows;
                let step = thread::grid_dim_x() as usize;
                convolve::<$Shape, T, $points>(worker(factors), spectrum, points, rows, step)
            }
        }

        /// Writes the taps' spectrum for the kernel that multiplies rows.
        ///
        /// # Parameters
        /// - `points`: the taps after the columns' pass, and their `marks`. `factors`: the shape's
        ///   [`factors`]. `points`, `factors` and `spectrum` are aligned to 16 bytes.
        ///
        /// # Launch
        /// 32 blocks of the shape's threads, with [`taps_rows_bytes`].
        #[kernel(
            instances($t),
            max_threads = $threads,
            min_blocks = 1,
            require(
                spectrum.len() == long_spectrum_len::<$Shape>(),
                points.len() == RADIX * transform_len::<$Shape>(),
                marks.len() == marks_len($Shape::POINTS),
                factors.len() == factors_len::<$Shape>(),
                spectrum.is_aligned_to(16),
                factors.is_aligned_to(16),
                points.is_aligned_to(16),
                block.x == $threads,
                grid.x as usize == RADIX,
                shared_bytes as usize >= self::taps_rows_bytes::<$Shape, T>(),
                [grid.y, grid.z, block.y, block.z] == [1; 4]
            )
        )]
        pub fn $taps<T: Transformed>(
            points: &[T],
            marks: &[u32],
            factors: &[T],
            mut spectrum: Out<T>,
        ) {
            let spectrum = spectrum.as_mut_ptr().cast();
            let points = points.as_ptr().cast();
            // SAFETY: `require` states all of it.
            unsafe {
                transform_taps::<$Shape, T, $points>(worker(factors), points, marks, spectrum)
            }
        }
    )*};
}

kernels! {
    Points2048, 16 each, 128 threads, 6 blocks, (f32): conv1d_fft_rows2048, conv1d_fft_taps_rows2048;
    Points4096, 16 each, 256 threads, 2 blocks, (f32): conv1d_fft_rows4096, conv1d_fft_taps_rows4096;
    Points4096, 16 each, 256 threads, 1 blocks, (f64): conv1d_fft_rows4096_wide, conv1d_fft_taps_rows4096_wide;
    Points8192, 32 each, 256 threads, 2 blocks, (f32): conv1d_fft_rows8192, conv1d_fft_taps_rows8192;
    Points16384, 32 each, 512 threads, 1 blocks, (f32): conv1d_fft_rows16384, conv1d_fft_taps_rows16384;
}
