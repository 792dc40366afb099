//! A pair of windows: two adjacent tiles as the real and imaginary parts of one transform.

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::complex::{Complex, Pair, Transformed, complex};
use super::passes::Worker;
use super::shape::{Shape, discarded};
use crate::conv1d::direct::convolve_one;

/// Position in its window of a thread's register `e`, minus the thread's number.
pub(super) const fn place<S: Shape>(e: usize) -> usize {
    let first = S::PASSES[0];
    S::THREADS * (e / first.radix) + first.stride * (e % first.radix)
}

/// A sample, or zero outside the signal.
#[inline(always)]
pub(super) fn sample<T: Transformed>(signal: &[T], at: usize) -> T {
    signal.get(at).copied().unwrap_or(T::ZERO)
}

/// Loads two windows; the second starts `kept` samples after the first.
#[inline(always)]
fn load<S: Shape, T: Transformed, const E: usize>(
    signal: &[T],
    start: usize,
    kept: usize,
    thread: usize,
) -> [Complex<T>; E] {
    let mut points = [Complex::zero(); E];
    let span = kept + S::POINTS;
    // A start before the signal has wrapped to a large number.
    if signal.len() >= span && start <= signal.len() - span {
        let first = signal.as_ptr().wrapping_add(start + thread);
        let second = first.wrapping_add(kept);
        unrolled::<32>(|e| {
            if e < E {
                let at = place::<S>(e);
                // SAFETY: both windows are inside the signal.
                points[e] = unsafe { complex(*first.add(at), *second.add(at)) };
            }
        });
    } else {
        unrolled::<32>(|e| {
            if e < E {
                let at = start.wrapping_add(thread + place::<S>(e));
                points[e] = complex(sample(signal, at), sample(signal, at.wrapping_add(kept)));
            }
        });
    }
    points
}

/// Writes the kept points, imaginary parts first, because the inverse's parts are swapped.
///
/// # Safety
/// `output` points to `rest` elements that no other thread uses.
#[inline(always)]
unsafe fn store<S: Shape, T: Transformed, const E: usize>(
    points: &[Complex<T>; E],
    output: *mut T,
    rest: usize,
    discarded: usize,
    thread: usize,
) {
    let kept = S::POINTS - discarded;
    let first_rest = rest.min(kept) as u32;
    let second_rest = rest.saturating_sub(kept).min(kept) as u32;
    let skipped = thread.wrapping_sub(discarded);
    let (first, second) = (
        output.wrapping_add(skipped),
        output.wrapping_add(skipped.wrapping_add(kept)),
    );
    unrolled::<32>(|e| {
        if e < E {
            // Discarded points have wrapped.
            let at = (skipped as u32).wrapping_add(place::<S>(e) as u32);
            // SAFETY: the caller's promise: `at` is below `rest`.
            unsafe {
                if at < first_rest {
                    first.wrapping_add(place::<S>(e)).write(points[e].im);
                }
                if at < second_rest {
                    second.wrapping_add(place::<S>(e)).write(points[e].re);
                }
            }
        }
    });
}

/// Transforms the taps, delayed by `shift`, and writes their spectrum divided by the number of
/// points, in the order of [`convolve`]'s registers: adjacent threads write adjacent pairs.
///
/// # Safety
/// All threads of a block of the shape call it, with its shared array and table; `spectrum` points
/// to the shape's elements, aligned to 16 bytes, which nothing else uses.
#[inline(always)]
pub(super) unsafe fn transform_taps<S: Shape, T: Transformed, const E: usize>(
    worker: Worker<T>,
    taps: &[T],
    spectrum: *mut Pair<T>,
    shift: usize,
) {
    let scale = T::half_to(S::POINTS.ilog2());
    let mut points = [Complex::zero(); E];
    unrolled::<32>(|e| {
        if e < E {
            let at = (worker.thread + place::<S>(e)).wrapping_sub(shift);
            points[e] = complex(sample(taps, at) * scale, T::ZERO);
        }
    });
    // SAFETY: the caller's promise.
    unsafe {
        worker.forward::<S, E>(&mut points);
        store_spectrum::<S, T, E>(&points, spectrum.add(worker.thread));
    }
}

/// Writes a thread's part of a spectrum, in the order of [`multiply`].
///
/// # Safety
/// `spectrum` points to this thread's first pair, and nothing else uses its pairs.
#[inline(always)]
pub(super) unsafe fn store_spectrum<S: Shape, T: Transformed, const E: usize>(
    points: &[Complex<T>; E],
    spectrum: *mut Pair<T>,
) {
    unrolled::<16>(|pair| {
        if 2 * pair < E {
            let numbers = Pair([points[2 * pair], points[2 * pair + 1]]);
            // SAFETY: the caller's promise.
            unsafe { spectrum.add(pair * S::THREADS).write(numbers) };
        }
    });
}

/// The operands of a block's convolution.
#[derive(Clone, Copy)]
pub(super) struct Operands<'a, T: Transformed> {
    pub(super) signal: &'a [T],
    pub(super) taps: &'a [T],
    /// The taps' spectrum, as written by [`transform_taps`].
    pub(super) spectrum: *const Pair<T>,
    pub(super) output: *mut [T],
    pub(super) offset: usize,
    pub(super) shift: usize,
}

/// Computes all outputs; the blocks of the grid stride over pairs of windows.
///
/// # Safety
/// All threads of the launch call it: one row of blocks of the shape along x, each with its shared
/// array and table. The taps leave some outputs per window, the shift is below 32, `offset` plus
/// the output's length does not overflow, and nothing else uses the output.
#[inline(always)]
pub(super) unsafe fn convolve<S: Shape, T: Transformed, const E: usize>(
    worker: Worker<T>,
    of: Operands<'_, T>,
) {
    const { assert!(E * S::THREADS == S::POINTS) };
    let thread = worker.thread;
    let discarded = discarded(of.taps.len(), of.shift);
    let kept = S::POINTS - discarded;
    let (output, output_len) = (of.output.cast::<T>(), of.output.len());
    let step = thread::grid_dim_x() as usize * 2 * kept;
    let mut first = thread::block_idx_x() as usize * 2 * kept;
    while first < output_len {
        let start = (first + of.offset)
            .wrapping_add(of.shift)
            .wrapping_sub(discarded);
        let mut points = load::<S, T, E>(of.signal, start, kept, thread);
        let rest = output_len - first;
        // SAFETY: the caller's promise; the outputs from `first` on belong to this block.
        unsafe {
            worker.forward::<S, E>(&mut points);
            let loud = multiply::<S, T, E>(&mut points, of.spectrum.wrapping_add(thread));
            if worker.inverse::<S, E>(&mut points, loud) {
                let end = rest.min(2 * kept);
                let mut at = thread;
                while at < end {
                    let i = first + at;
                    output
                        .add(i)
                        .write(convolve_one(of.signal, of.taps, i + of.offset));
                    at += S::THREADS;
                }
            } else {
                store::<S, T, E>(&points, output.add(first), rest, discarded, thread);
            }
        }
        first += step;
    }
}

/// Multiplies by the taps' spectrum and swaps the parts. Returns whether a product is not finite or
/// so large that the inverse might overflow.
///
/// # Safety
/// `spectrum` points to this thread's first pair.
#[inline(always)]
pub(super) unsafe fn multiply<S: Shape, T: Transformed, const E: usize>(
    points: &mut [Complex<T>; E],
    spectrum: *const Pair<T>,
) -> bool {
    let mut magnitude = T::ZERO;
    unrolled::<16>(|pair| {
        if 2 * pair < E {
            // SAFETY: the caller's promise.
            let [even, odd] = unsafe { spectrum.add(pair * S::THREADS).read().0 };
            let (even, odd) = (points[2 * pair] * even, points[2 * pair + 1] * odd);
            magnitude = magnitude + even.re.abs() + even.im.abs() + odd.re.abs() + odd.im.abs();
            points[2 * pair] = even.exchanged();
            points[2 * pair + 1] = odd.exchanged();
        }
    });
    // False for NaN.
    let quiet = magnitude <= T::LOUDEST;
    !quiet
}
