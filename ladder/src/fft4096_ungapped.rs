//! The convolution `fft4096` without gaps in shared memory: what bank conflicts cost.
//!
//! In the last pass adjacent lanes are 16 points apart, so the 16 lanes that the hardware serves
//! together access one bank. Otherwise it is [`fft4096`](crate::kernels::conv1d::fft), whose module
//! has the figures of both.

use core::ptr;

use cuda_std::prelude::*;

use crate::kernels::conv1d::fft::Transformed;
use crate::kernels::conv1d::fft::kernels::{convolve_in, transform_taps_in};
use crate::kernels::conv1d::fft::shape::{MOST_PASSES, Pass, RUN, Shape, passes};
// For the host's rules.
#[cfg(not(target_arch = "nvptx64"))]
use crate::kernels::conv1d::fft::shape::{discarded, factors_len, spectrum_len};

/// 2¹² points; a thread has [`EACH`] of them.
#[derive(Clone, Copy, Debug)]
pub struct Ungapped4096;

impl Shape for Ungapped4096 {
    const POINTS: usize = 4096;
    const THREADS: usize = 256;
    const PASSES: [Pass; MOST_PASSES] = passes(4096, [16, 16, 16, 1]);
    const GAP_AFTER: usize = usize::MAX;
}

/// Points of a thread.
pub const EACH: usize = Ungapped4096::POINTS / Ungapped4096::THREADS;

/// y\[i\] = Σₖ taps\[k\] · signal\[i + offset − k\] for every i of `output`, as `fft4096` does.
///
/// # Parameters
/// - `signal`: n samples. `taps`: m ≥ 1 taps, few enough that a window yields outputs.
/// - `spectrum`: written by [`conv1d_taps_fft4096_ungapped`] for the taps, with the same `shift`.
///   `factors`: the shape's. Both are aligned to 16 bytes.
/// - `offset`, `shift`: as of `fft4096`.
///
/// # Launch
/// One-dimensional, blocks of the shape's threads, with its shared memory. The grid strides over
/// pairs of windows.
#[kernel(
    instances(f32),
    max_threads = 256,
    min_blocks = 3,
    require(
        !taps.is_empty(),
        shift < 32,
        discarded(taps.len(), shift) < Ungapped4096::POINTS,
        spectrum.len() == spectrum_len::<Ungapped4096>(),
        factors.len() == factors_len::<Ungapped4096>(),
        spectrum.is_aligned_to(16),
        factors.is_aligned_to(16),
        offset.checked_add(output.len()).is_some(),
        block.x == 256,
        shared_bytes as usize
            >= crate::kernels::conv1d::fft::shape::shared_bytes::<Ungapped4096, T>(),
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub fn conv1d_fft4096_ungapped<T: Transformed>(
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
        convolve_in::<Ungapped4096, T, EACH, { Ungapped4096::POINTS / RUN }, 0, false>(
            signal, taps, spectrum, factors, output, offset, shift,
        )
    }
}

/// Writes the taps' spectrum for [`conv1d_fft4096_ungapped`].
///
/// # Parameters
/// - `taps`: m ≥ 1 taps. `factors`: the shape's, aligned to 16 bytes as `spectrum` is.
/// - `shift`: number of places by which the taps are delayed.
///
/// # Launch
/// One block of the shape's threads, with its shared memory.
#[kernel(
    instances(f32),
    max_threads = 256,
    min_blocks = 1,
    require(
        spectrum.len() == spectrum_len::<Ungapped4096>(),
        factors.len() == factors_len::<Ungapped4096>(),
        spectrum.is_aligned_to(16),
        factors.is_aligned_to(16),
        block.x == 256,
        shared_bytes as usize
            >= crate::kernels::conv1d::fft::shape::shared_bytes::<Ungapped4096, T>(),
        [grid.x, grid.y, grid.z, block.y, block.z] == [1; 5]
    )
)]
pub fn conv1d_taps_fft4096_ungapped<T: Transformed>(
    taps: &[T],
    factors: &[T],
    mut spectrum: Out<T>,
    shift: usize,
) {
    // SAFETY: `require` states all of it.
    unsafe {
        transform_taps_in::<Ungapped4096, T, EACH>(taps, factors, spectrum.as_mut_ptr(), shift)
    }
}
