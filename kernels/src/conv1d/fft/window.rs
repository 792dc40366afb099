//! A pair of windows: the samples of two neighbouring tiles as real and imaginary parts of one transform.

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::complex::{Complex, Pair, Transformed, complex};
use super::passes::Worker;
use super::shape::{Shape, discarded};
use crate::conv1d::direct::convolve_one;

/// The place in its window of register `e` of a thread, less the thread's number.
const fn place<S: Shape>(e: usize) -> usize {
    let first = S::PASSES[0];
    S::THREADS * (e / first.radix) + first.stride * (e % first.radix)
}

/// A sample, or zero where there is none.
#[inline(always)]
fn sample<T: Transformed>(signal: &[T], at: usize) -> T {
    signal.get(at).copied().unwrap_or(T::ZERO)
}

/// Loads two windows, of which the second begins `kept` samples after the first.
#[inline(always)]
fn load<S: Shape, T: Transformed, const E: usize>(
    signal: &[T],
    start: usize,
    kept: usize,
    thread: usize,
) -> [Complex<T>; E] {
    let mut points = [Complex::zero(); E];
    let span = kept + S::POINTS;
    // A start before the signal has wrapped.
    if signal.len() >= span && start <= signal.len() - span {
        let first = signal.as_ptr().wrapping_add(start + thread);
        let second = first.wrapping_add(kept);
        unrolled::<32>(|e| {
            if e < E {
                let at = place::<S>(e);
                // SAFETY: both windows lie inside the signal.
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

/// Writes the kept points, imaginary parts first: those of the inverse are exchanged.
///
/// # Safety
/// `output` leads to `rest` elements, which nobody else uses.
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
            // Those that are not kept have wrapped.
            let at = (skipped as u32).wrapping_add(place::<S>(e) as u32);
            // SAFETY: the caller's promise: `at` is below the rest.
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

/// Transforms the taps, delayed by `shift`, and writes their spectrum, divided by the number of points: in the order of [`convolve`]'s
/// registers, neighbouring pairs by neighbouring threads.
///
/// # Safety
/// All threads of a block of the shape call it, with its shared array and table; `spectrum` leads to the shape's elements, aligned to 16 bytes,
/// and nobody else uses them.
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
        let first = spectrum.add(worker.thread);
        unrolled::<16>(|pair| {
            if 2 * pair < E {
                let numbers = Pair([points[2 * pair], points[2 * pair + 1]]);
                first.add(pair * S::THREADS).write(numbers);
            }
        });
    }
}

/// What a block convolves.
#[derive(Clone, Copy)]
pub(super) struct Operands<'a, T: Transformed> {
    pub(super) signal: &'a [T],
    pub(super) taps: &'a [T],
    /// The taps' spectrum, as [`transform_taps`] leaves it.
    pub(super) spectrum: *const Pair<T>,
    pub(super) output: *mut [T],
    pub(super) offset: usize,
    pub(super) shift: usize,
}

/// Computes all outputs; the blocks of the grid take one pair of windows after the other.
///
/// # Safety
/// All threads of the launch call it: one row of blocks of the shape along x, each with its shared array and table. The taps leave some
/// outputs of a window, the shift is below 32, `offset` plus the output's length does not overflow, and nobody else uses the output.
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
        // SAFETY: the caller's promise; the outputs from `first` on are this block's.
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

/// Multiplies with the taps' spectrum and exchanges the parts. Whether a product is so large, or no number, that the inverse would not hold it.
///
/// # Safety
/// `spectrum` leads to this thread's first pair.
#[inline(always)]
unsafe fn multiply<S: Shape, T: Transformed, const E: usize>(
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
    // NaN is not.
    let quiet = magnitude <= T::LOUDEST;
    !quiet
}
