//! A pair of windows: two adjacent tiles as the real and imaginary parts of one transform.

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::complex::{Complex, Pair, Transformed, complex, sample};
use super::passes::Worker;
use super::quiet::{self, Gain, Layout, Level, Mark, Runs, warp_of};
use super::shape::{RUN, Shape, discarded, place};
use crate::conv1d::direct::convolve_one;

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
/// points, in the order of [`convolve`]'s registers: adjacent threads write adjacent pairs. The
/// taps' gain comes after it.
///
/// # Safety
/// All threads of a block of the shape call it, with its shared memory and table; `spectrum` points
/// to the shape's elements, aligned to 16 bytes, which nothing else uses.
#[inline(always)]
pub(super) unsafe fn transform_taps<S: Shape, T: Transformed, const E: usize>(
    worker: Worker<T>,
    taps: &[T],
    spectrum: *mut Pair<T>,
    shift: usize,
) {
    let log_points = S::POINTS.ilog2();
    let mut points = [Complex::zero(); E];
    let mut loudest = 0;
    unrolled::<32>(|e| {
        if e < E {
            let at = (worker.thread + place::<S>(e)).wrapping_sub(shift);
            let tap = sample(taps, at);
            loudest = loudest.max(tap.loudness());
            points[e] = complex(tap, T::ZERO);
        }
    });
    // SAFETY: the caller's promise.
    unsafe {
        worker.write_mark::<S>([quiet::most(loudest), 0]);
        worker.forward::<S, E>(&mut points);
        // The barriers of `forward` ordered the marks' writes.
        let [loudest, _] = worker.mark::<S>(worker.thread % quiet::warps::<S>());
        let gain = Gain::new::<T>(quiet::most(loudest), log_points);
        scale(&mut points, gain.factor(log_points));
        store_spectrum::<S, T, E>(&points, spectrum.add(worker.thread));
        if worker.thread == 0 {
            spectrum.add(S::POINTS / 2).write(gain.written());
        }
    }
}

/// Multiplies points by a factor.
#[inline(always)]
pub(super) fn scale<T: Transformed, const E: usize>(points: &mut [Complex<T>; E], factor: T) {
    unrolled::<32>(|e| {
        if e < E {
            points[e] = complex(points[e].re * factor, points[e].im * factor);
        }
    });
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
/// memory and table. The taps leave some outputs per window, the shift is below 32, `offset` plus
/// the output's length does not overflow, and nothing else uses the output.
#[inline(always)]
pub(super) unsafe fn convolve<S: Shape, T: Transformed, const E: usize, const COUNT: usize>(
    worker: Worker<T>,
    of: Operands<'_, T>,
) {
    const { assert!(E * S::THREADS == S::POINTS && COUNT * RUN == S::POINTS) };
    let thread = worker.thread;
    let discarded = discarded(of.taps.len(), of.shift);
    let kept = S::POINTS - discarded;
    let (output, output_len) = (of.output.cast::<T>(), of.output.len());
    let spectrum = of.spectrum.wrapping_add(thread);
    // SAFETY: the caller's promise; the runs' memory comes after the marks'.
    let runs = unsafe { Runs::<COUNT, RUN>::new(worker.after_marks::<S>()) };
    let step = thread::grid_dim_x() as usize * 2 * kept;
    let mut first = thread::block_idx_x() as usize * 2 * kept;
    while first < output_len {
        let start = (first + of.offset)
            .wrapping_add(of.shift)
            .wrapping_sub(discarded);
        let starts = [start, start.wrapping_add(kept)];
        let outputs = Outputs {
            first,
            rest: (output_len - first).min(2 * kept),
            kept,
            discarded,
        };
        let mut level = Level::WHOLE;
        // Once as it is, and then, if that is not good enough, once for each level.
        loop {
            // SAFETY: the caller's promise; the outputs from `first` on belong to this block. The
            // barriers of the passes order what is said there of barriers.
            unsafe {
                let gain = Gain::read(of.spectrum.add(S::POINTS / 2).read());
                let mut points = if level.is_whole() {
                    let points = load::<S, T, E>(of.signal, start, kept, thread);
                    let mark = mark_window::<S, T, E>(&points, &of, starts, gain, thread);
                    worker.write_mark::<S>(mark);
                    points
                } else {
                    worker.places::<S>(|place, slot| {
                        let ceiling = gain.ceiling();
                        slot.write(runs.parts(level, ceiling, of.signal, starts, place));
                    });
                    let mut points = [Complex::zero(); E];
                    worker.get_window::<S, E>(&mut points);
                    points
                };
                worker.forward::<S, E>(&mut points);
                multiply::<S, T, E>(&mut points, spectrum);
                let vote = level.is_whole() && {
                    let [loudest, _] = worker.mark::<S>(thread % quiet::warps::<S>());
                    let [_, quietest] = worker.mark::<S>(thread / 32);
                    // NaN reaches every point.
                    !(points[0].re.abs() <= T::MOST) || quiet::divides::<T>(loudest, quietest)
                };
                let divided = worker.inverse::<S, E>(&mut points, vote);
                let to = output.add(first);
                let limit = if level.is_whole() {
                    if !divided {
                        store::<S, T, E>(&points, to, outputs.rest, discarded, thread);
                        break;
                    }
                    outputs.each(S::THREADS, thread, |at, _, _| to.add(at).write(T::ZERO));
                    runs.measure(of.signal, starts, gain.ceiling(), thread, S::THREADS);
                    gain.limit(of.taps.len(), RUN)
                } else {
                    let back = level.back(gain);
                    worker.put_window::<S, E>(&points);
                    worker.places::<S>(|place, slot| {
                        outputs.add(to, &of, runs, place, back, slot.read());
                    });
                    level.floor
                };
                // Orders every thread's measures before their reads, and the reads of what runs
                // reach before the next writes.
                thread::sync_threads();
                let special;
                (level, special) = runs.level::<T>(limit, thread);
                if level.loudest == 0 {
                    let threads = [thread, S::THREADS];
                    outputs.finish(to, &of, runs, starts, gain, special, threads);
                    break;
                }
                runs.reach_level(thread, level);
            }
        }
        first += step;
    }
}

/// The outputs of a pair of windows.
#[derive(Clone, Copy)]
pub(super) struct Outputs {
    /// The number of the first one.
    pub(super) first: usize,
    /// How many there are in both windows.
    pub(super) rest: usize,
    pub(super) kept: usize,
    pub(super) discarded: usize,
}

impl Outputs {
    /// Calls `body` for this thread's outputs, with the output's number from `first` on, its
    /// window, and its place there.
    #[inline(always)]
    pub(super) fn each(
        self,
        threads: usize,
        thread: usize,
        mut body: impl FnMut(usize, usize, usize),
    ) {
        let mut at = thread;
        while at < self.rest {
            let window = usize::from(at >= self.kept);
            body(at, window, self.discarded + at - window * self.kept);
            at += threads;
        }
    }

    /// Adds what a level has at a place of both windows, with swapped parts, to the outputs there
    /// that it reaches.
    ///
    /// # Safety
    /// `output` points to the outputs, and no other thread uses those at this place.
    #[inline(always)]
    pub(super) unsafe fn add<T: Transformed, const COUNT: usize, const LENGTH: usize>(
        self,
        output: *mut T,
        of: &Operands<'_, T>,
        runs: Runs<COUNT, LENGTH>,
        place: usize,
        [half, rest]: [T; 2],
        point: Complex<T>,
    ) {
        // Discarded ones have wrapped.
        let at = place.wrapping_sub(self.discarded);
        if at >= self.kept {
            return;
        }
        for (window, part) in [point.im, point.re].into_iter().enumerate() {
            let at = window * self.kept + at;
            if at < self.rest && runs.is_reached(window, place - of.shift, of.taps.len()) {
                // SAFETY: the caller's promise.
                unsafe {
                    let output = output.add(at);
                    output.write(output.read() + part * half * rest);
                }
            }
        }
    }

    /// Computes the outputs with special samples in their windows, or all if the taps are not
    /// transformed at all, by direct sums. After a barrier.
    ///
    /// # Safety
    /// All threads of the block call it, with their number and how many they are; `output` points
    /// to the outputs, which nothing else uses.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "for two kinds of kernels")]
    pub(super) unsafe fn finish<T: Transformed, const COUNT: usize, const LENGTH: usize>(
        self,
        output: *mut T,
        of: &Operands<'_, T>,
        runs: Runs<COUNT, LENGTH>,
        starts: [usize; 2],
        gain: Gain,
        special: bool,
        [thread, threads]: [usize; 2],
    ) {
        let all = gain.limit(of.taps.len(), LENGTH) == 0;
        if !all && !special {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe {
            runs.reach_special(thread);
            // Orders what the special runs reach before its reads.
            thread::sync_threads();
            self.each(threads, thread, |at, window, place| {
                let start = if window == 0 { starts[0] } else { starts[1] };
                let newest = [window, start, place - of.shift];
                let special = match all {
                    true => Some(T::ZERO),
                    false => runs.special(gain.ceiling(), of.signal, newest, of.taps.len()),
                };
                if let Some(sample) = special {
                    let centre = self.first + at + of.offset;
                    let sum = match sample.is_not_a_number() {
                        true => sample * T::ZERO,
                        false => convolve_one(of.signal, of.taps, centre),
                    };
                    output.add(at).write(sum);
                }
            });
        }
    }
}

/// A warp's mark of its windows; a sign that they cannot be transformed as they are, if the taps
/// are not for that.
///
/// # Safety
/// All threads of a block of the shape call it.
#[inline(always)]
unsafe fn mark_window<S: Shape, T: Transformed, const E: usize>(
    points: &[Complex<T>; E],
    of: &Operands<'_, T>,
    starts: [usize; 2],
    gain: Gain,
    thread: usize,
) -> Mark {
    if !gain.is_usual(of.taps.len()) {
        return [0, 0];
    }
    let layout = Layout {
        points: S::POINTS,
        apart: S::THREADS,
        warp: warp_of(thread),
        lane: thread as u32 % 32,
    };
    let lengths = [of.signal.len(), of.taps.len()];
    // SAFETY: the caller's promise; the branch above is the same for the block.
    unsafe {
        quiet::mark(
            points,
            layout,
            |e| place::<S>(e) / S::THREADS,
            starts,
            lengths,
        )
    }
}

/// Multiplies by the taps' spectrum and swaps the parts.
///
/// # Safety
/// `spectrum` points to this thread's first pair.
#[inline(always)]
pub(super) unsafe fn multiply<S: Shape, T: Transformed, const E: usize>(
    points: &mut [Complex<T>; E],
    spectrum: *const Pair<T>,
) {
    unrolled::<16>(|pair| {
        if 2 * pair < E {
            // SAFETY: the caller's promise.
            let [even, odd] = unsafe { spectrum.add(pair * S::THREADS).read().0 };
            points[2 * pair] = (points[2 * pair] * even).exchanged();
            points[2 * pair + 1] = (points[2 * pair + 1] * odd).exchanged();
        }
    });
}
