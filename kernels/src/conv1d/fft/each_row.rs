//! Transforms in shared memory of each row of a matrix, with the same taps:
//! [`kernels`](super::kernels) with a row of blocks for each.
//!
//! A single signal is a matrix of one row, except in the two smallest shapes of `f32`: there a
//! row's addresses take registers from the passes, and single signals had 0.94 to 1.00 of their
//! speed (docs/log/2026-11-26-entry-points.md, "149 entry points"). Short rows have the smallest.

use core::ptr;

use cuda_std::prelude::*;

use super::complex::Transformed;
use super::kernels::convolve_in;
use super::shape::*;
use crate::conv1d::matrix::{row_of, row_of_layers, start};

macro_rules! kernels {
    ($($Shape:ident, $points:literal each, $threads:literal threads, $blocks:literal blocks, $first:literal first, $t:ident: $convolve:ident;)*) => {$(
        /// y\[i\] = Σₖ taps\[k\] · signal\[i + offset − k\] for every i of each row of `output`,
        /// within the bound of [the module](super).
        ///
        /// # Parameters
        /// - `signal`: rows of n samples. `taps`: m ≥ 1 taps, few enough that a window yields
        ///   outputs.
        /// - `spectrum`, `factors`, `offset`, `shift`: as for a single signal.
        /// - `samples`, `outputs`: a row's samples and outputs. `signal_pitch`: the distance
        ///   between rows of the signal.
        ///
        /// # Launch
        /// Blocks of the shape's threads along x, with [`shared_bytes`], which stride over pairs of
        /// windows; along y and z one for each row, or more.
        #[kernel(
            instances($t),
            max_threads = $threads,
            min_blocks = $blocks,
            require(
                !taps.is_empty(),
                shift < 32,
                discarded(taps.len(), shift) < $Shape::POINTS,
                spectrum.len() == spectrum_len::<$Shape>(),
                factors.len() == factors_len::<$Shape>(),
                spectrum.is_aligned_to(16),
                factors.is_aligned_to(16),
                offset.checked_add(outputs).is_some(),
                block.x == $threads,
                shared_bytes as usize >= self::shared_bytes::<$Shape, T>(),
                [block.y, block.z] == [1; 2],
                crate::conv1d::matrix::are_layers(
                    [grid.y, grid.z],
                    1,
                    outputs,
                    crate::conv1d::matrix::rows_of(output.len(), outputs)
                ),
                crate::conv1d::matrix::are_rows(
                    crate::conv1d::matrix::rows_of(output.len(), outputs),
                    [output.len(), outputs],
                    [[signal.len(), samples, signal_pitch]]
                )
            )
        )]
        #[allow(clippy::too_many_arguments, reason = "rows have lengths")]
        pub fn $convolve<T: Transformed>(
            signal: &[T],
            taps: &[T],
            spectrum: &[T],
            factors: &[T],
            mut output: Out<T>,
            offset: usize,
            shift: usize,
            samples: usize,
            outputs: usize,
            signal_pitch: usize,
        ) {
            let row = row_of_layers();
            let first = start(row, outputs);
            if first >= output.len() {
                return;
            }
            let output = output.as_mut_ptr().wrapping_add(first);
            let output = ptr::slice_from_raw_parts_mut(output, outputs);
            // SAFETY: `require` states all of this, and that rows that begin within the output
            // exist.
            unsafe {
                let signal = row_of(signal, row, samples, signal_pitch);
                convolve_in::<$Shape, T, $points, { $Shape::POINTS / RUN }, $first, { $threads == 512 }>(
                    signal, taps, spectrum, factors, output, offset, shift,
                )
            }
        }
    )*};
}

kernels! {
    Points2048, 16 each, 128 threads, 6 blocks, 3 first, f32: conv1d_fft2048_rows;
    Points4096, 16 each, 256 threads, 1 blocks, 4 first, f64: conv1d_fft4096_wide;
    Points8192, 32 each, 256 threads, 2 blocks, 4 first, f32: conv1d_fft8192;
    Points16384, 32 each, 512 threads, 1 blocks, 8 first, f32: conv1d_fft16384;
}
