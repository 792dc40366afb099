//! Entry points: for each [`Shape`] one kernel that convolves and one that transforms the taps.

use core::ptr;

use cuda_std::prelude::*;

use super::complex::{Complex, Transformed};
use super::operands::Operands;
use super::passes::Worker;
use super::shape::*;
use super::window::{convolve, transform_taps};

/// # Safety
/// `factors` is aligned to 16 bytes; the launch has the shape's shared memory.
#[inline(always)]
pub(super) unsafe fn worker<T: Transformed>(factors: &[T]) -> Worker<T> {
    Worker {
        thread: thread::thread_idx_x() as usize,
        shared: shared::dynamic_shared_mem::<Complex<T>>(),
        factors: factors.as_ptr().cast(),
    }
}

/// The body of a kernel that convolves, with its `FIRST` and `AHEAD`.
///
/// # Safety
/// As for `convolve`; `E` points a thread, `COUNT` runs of a window. `spectrum` and `factors` have
/// the shape's elements and are aligned to 16 bytes.
#[inline(always)]
pub unsafe fn convolve_in<
    S: Shape,
    T: Transformed,
    const E: usize,
    const COUNT: usize,
    const FIRST: usize,
    const AHEAD: bool,
>(
    signal: &[T],
    taps: &[T],
    spectrum: &[T],
    factors: &[T],
    output: *mut [T],
    offset: usize,
    shift: usize,
) {
    let operands = Operands {
        signal,
        taps,
        spectrum: spectrum.as_ptr().cast(),
        output,
        offset,
        shift,
    };
    // SAFETY: the caller's promise.
    unsafe { convolve::<S, T, E, COUNT, FIRST, AHEAD>(worker(factors), operands) }
}

/// The body of a kernel that transforms taps.
///
/// # Safety
/// One block of the shape's threads calls it, with the shape's shared memory; `factors` has the
/// shape's elements, and so has `spectrum`, which nothing else uses. Both are aligned to 16 bytes.
#[inline(always)]
pub unsafe fn transform_taps_in<S: Shape, T: Transformed, const E: usize>(
    taps: &[T],
    factors: &[T],
    spectrum: *mut T,
    shift: usize,
) {
    // SAFETY: the caller's promise.
    unsafe { transform_taps::<S, T, E>(worker(factors), taps, spectrum.cast(), shift) }
}

macro_rules! kernels {
    ($($Shape:ident, $points:literal each, $threads:literal threads, $blocks:literal blocks, $first:literal first: $convolve:ident;)*) => {$(
        /// y\[i\] = Σₖ taps\[k\] · signal\[i + offset − k\] for every i of `output`, within the
        /// bound of [the module](super).
        ///
        /// # Parameters
        /// - `signal`: n samples. `taps`: m ≥ 1 taps, few enough that a window yields outputs.
        /// - `spectrum`: written by the kernel for the taps, with the same `shift`. `factors`: the
        ///   shape's [`factors`]. Both are aligned to 16 bytes.
        /// - `offset`: see [the convolutions](crate::conv1d). `shift`: below 32, ideally the
        ///   [`shift`] of the offset.
        ///
        /// # Launch
        /// One-dimensional, blocks of the shape's threads, with [`shared_bytes`]. The grid strides
        /// over pairs of windows.
        #[kernel(
            instances(f32),
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
                offset.checked_add(output.len()).is_some(),
                block.x == $threads,
                shared_bytes as usize >= self::shared_bytes::<$Shape, T>(),
                [grid.y, grid.z, block.y, block.z] == [1; 4]
            )
        )]
        pub fn $convolve<T: Transformed>(
            signal: &[T],
            taps: &[T],
            spectrum: &[T],
            factors: &[T],
            mut output: Out<T>,
            offset: usize,
            shift: usize,
        ) {
            let output = ptr::slice_from_raw_parts_mut(output.as_mut_ptr(), output.len());
            // SAFETY: `require` states all of this.
            unsafe {
                convolve_in::<$Shape, T, $points, { $Shape::POINTS / RUN }, $first, { $threads == 512 }>(
                    signal, taps, spectrum, factors, output, offset, shift,
                )
            }
        }
    )*};
}

macro_rules! taps_kernels {
    ($($Shape:ident, $points:literal each, $threads:literal threads, $t:ident: $taps:ident;)*) => {$(
        /// Writes the taps' spectrum for the kernel that convolves.
        ///
        /// # Parameters
        /// - `taps`: m ≥ 1 taps. `factors`: the shape's [`factors`], aligned to 16 bytes as
        ///   `spectrum` is.
        /// - `shift`: number of places by which the taps are delayed.
        ///
        /// # Launch
        /// One block of the shape's threads, with [`shared_bytes`].
        #[kernel(
            instances($t),
            max_threads = $threads,
            min_blocks = 1,
            require(
                spectrum.len() == spectrum_len::<$Shape>(),
                factors.len() == factors_len::<$Shape>(),
                spectrum.is_aligned_to(16),
                factors.is_aligned_to(16),
                block.x == $threads,
                shared_bytes as usize >= self::shared_bytes::<$Shape, T>(),
                [grid.x, grid.y, grid.z, block.y, block.z] == [1; 5]
            )
        )]
        pub fn $taps<T: Transformed>(taps: &[T], factors: &[T], mut spectrum: Out<T>, shift: usize) {
            // SAFETY: `require` states all of it.
            unsafe { transform_taps_in::<$Shape, T, $points>(taps, factors, spectrum.as_mut_ptr(), shift) }
        }
    )*};
}

kernels! {
    Points2048, 16 each, 128 threads, 6 blocks, 6 first: conv1d_fft2048;
    Points4096, 16 each, 256 threads, 3 blocks, 4 first: conv1d_fft4096;
}

taps_kernels! {
    Points2048, 16 each, 128 threads, f32: conv1d_taps_fft2048;
    Points4096, 16 each, 256 threads, f32: conv1d_taps_fft4096;
    Points4096, 16 each, 256 threads, f64: conv1d_taps_fft4096_wide;
    Points8192, 32 each, 256 threads, f32: conv1d_taps_fft8192;
    Points16384, 32 each, 512 threads, f32: conv1d_taps_fft16384;
}
