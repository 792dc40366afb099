//! A pair of windows: two adjacent tiles as the real and imaginary parts of one transform.

use cuda_std::gpu_only;
use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::complex::{Complex, Pair, Transformed, complex, read_number, sample, write_number};
use super::operands::Operands;
use super::outputs::Outputs;
use super::passes::{Ahead, MOST_AHEAD, MOST_BUTTERFLIES, Worker};
use super::quiet::{self, Gain, Layout, Mark, Runs, warp_of};
use super::rolled;
use super::shape::{RUN, Shape, discarded, place};
use crate::here::zero_here;

/// Loads two windows by their starts. Returns whether both are inside the signal, too.
#[inline(always)]
fn load<S: Shape, T: Transformed, const E: usize>(
    signal: &[T],
    [start, later]: [usize; 2],
    thread: usize,
) -> ([Complex<T>; E], bool) {
    let mut points = [Complex::zero(); E];
    let kept = later.wrapping_sub(start);
    let span = kept + S::POINTS;
    // A start before the signal has wrapped to a large number.
    let within = signal.len() >= span && start <= signal.len() - span;
    if within {
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
    (points, within)
}

/// Asks L2 for the windows of the pair that this multiprocessor takes after this one: the next of
/// the grid's wave. For shapes of which it holds one block, so that nothing else hides the wait for
/// them. The samples of this pair have arrived: they would wait behind those.
#[inline(always)]
fn ask_ahead<S: Shape, T: Transformed>(signal: &[T], [start, later]: [usize; 2], thread: usize) {
    const LINE: usize = 128;
    let kept = later.wrapping_sub(start);
    let wave = thread::grid_dim_x().min(multiprocessors()) as usize;
    let next = start.wrapping_add(wave * 2 * kept);
    let in_line = LINE / size_of::<T>();
    let mut at = thread * in_line;
    while at < kept + S::POINTS && next.wrapping_add(at) < signal.len() {
        prefetch(signal.as_ptr().wrapping_add(next.wrapping_add(at)));
        at += S::THREADS * in_line;
    }
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
    let first = S::PASSES[0];
    let mut loudest = 0;
    let mut tap_at = |place: usize| {
        let tap = sample(taps, (worker.thread + place).wrapping_sub(shift));
        loudest = loudest.max(tap.loudness());
        tap
    };
    // SAFETY: the caller's promise.
    unsafe {
        let ahead = worker.ahead::<S, 0>(MOST_AHEAD);
        // All that the only block waits for is in flight at once, as far as registers go.
        let second = worker.ahead::<S, 1>(if S::THREADS < 512 { MOST_AHEAD } else { 0 });
        let mut points = if taps.len() + shift <= first.stride {
            // All others of a butterfly are 0.
            let mut firsts = [T::ZERO; MOST_BUTTERFLIES];
            unrolled::<MOST_BUTTERFLIES>(|q| {
                if q * first.radix < E {
                    firsts[q] = tap_at(place::<S>(q * first.radix));
                }
            });
            worker.spread::<S, E>(firsts, ahead)
        } else {
            let mut points = [Complex::zero(); E];
            unrolled::<32>(|e| {
                if e < E {
                    points[e] = complex(tap_at(place::<S>(e)), T::ZERO);
                }
            });
            worker.forward_pass::<S, E, true, 0>(&mut points, ahead, None);
            points
        };
        worker.write_mark::<S>([quiet::most(loudest), 0]);
        worker.forward_pass::<S, E, true, 1>(&mut points, second, None);
        // The barrier of the second pass ordered the marks' writes.
        let [loudest, _] = worker.mark::<S>(worker.thread % quiet::warps::<S>());
        let gain = Gain::new::<T>(quiet::most(loudest), log_points);
        worker.after_second::<S, E, true>(&mut points, None);
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

/// Computes all outputs; the blocks of the grid stride over pairs of windows. `FIRST`: number of
/// the first pass's pairs of factors that are loaded along with the samples. `AHEAD`: whether those
/// of the others are loaded before the barriers. See [`Ahead`].
///
/// # Safety
/// All threads of the launch call it: one row of blocks of the shape along x, each with its shared
/// memory and table. The taps leave some outputs per window, the shift is below 32, `offset` plus
/// the output's length does not overflow, and nothing else uses the output.
#[inline(always)]
pub(super) unsafe fn convolve<
    S: Shape,
    T: Transformed,
    const E: usize,
    const COUNT: usize,
    const FIRST: usize,
    const AHEAD: bool,
>(
    worker: Worker<T>,
    of: Operands<'_, T>,
) {
    let kept = |of: &Operands<'_, T>| S::POINTS - discarded(of.taps.len(), of.shift);
    // Computed when it is needed, not kept in registers until then.
    let step = |of: &Operands<'_, T>| (thread::grid_dim_x() as usize + zero_here()) * 2 * kept(of);
    let mut first = thread::block_idx_x() as usize * 2 * kept(&of);
    loop {
        // SAFETY: the caller's promise; the outputs from `first` on belong to this block.
        unsafe {
            // Anew after a divided pair, which would keep all of it in registers.
            let (worker, of) = (worker.here(), of.here());
            while first < of.output.len()
                && convolve_whole::<S, T, E, FIRST, AHEAD>(worker, &of, first)
            {
                first += step(&of);
            }
            if first >= of.output.len() {
                return;
            }
            convolve_divided::<S, T, COUNT>(worker, &of, first);
        }
        first += step(&of);
    }
}

/// Transforms a pair of windows as it is. Returns false, and writes nothing, if that is not good
/// enough.
///
/// # Safety
/// As for [`convolve`]; the outputs from `first` on belong to the block.
#[inline(always)]
unsafe fn convolve_whole<
    S: Shape,
    T: Transformed,
    const E: usize,
    const FIRST: usize,
    const AHEAD: bool,
>(
    worker: Worker<T>,
    of: &Operands<'_, T>,
    first: usize,
) -> bool {
    const { assert!(E * S::THREADS == S::POINTS) };
    let thread = worker.thread;
    let outputs = Outputs::new(of, S::POINTS, first);
    let starts = outputs.starts(of);
    // SAFETY: the caller's promise. The barriers of the passes order the marks' writes before their
    // reads, and those before the next ones' writes.
    unsafe {
        let gain = Gain::read(of.spectrum.add(S::POINTS / 2).read());
        let (mut points, within) = load::<S, T, E>(of.signal, starts, thread);
        // In flight along with the samples: the votes stand between these and the first pass.
        let pairs = worker.ahead::<S, 0>(FIRST);
        let mark = mark_window::<S, T, E>((&points, within), of, starts, gain, thread);
        worker.write_mark::<S>(mark);
        if AHEAD {
            ask_ahead::<S, T>(of.signal, starts, thread);
        }
        let spectrum = of.spectrum.wrapping_add(thread);
        let ahead = worker.forward::<S, E, AHEAD>(&mut points, pairs, Some(spectrum));
        multiply::<S, T, E>(&mut points, spectrum, ahead);
        let [loudest, _] = worker.mark::<S>(thread % quiet::warps::<S>());
        let [_, quietest] = worker.mark::<S>(thread / 32);
        // NaN reaches every point, and fits nowhere.
        let fits = points[0].re.abs() <= T::MOST;
        let vote = !fits || quiet::divides::<T>(loudest, quietest);
        let divided = worker.inverse::<S, E, AHEAD>(&mut points, vote);
        if !divided {
            outputs.store::<S, T, E>(of, &points, thread);
        }
        !divided
    }
}

/// Computes the outputs of a pair of windows level by level.
///
/// # Safety
/// As for [`convolve_whole`].
#[inline(always)]
unsafe fn convolve_divided<S: Shape, T: Transformed, const COUNT: usize>(
    worker: Worker<T>,
    of: &Operands<'_, T>,
    first: usize,
) {
    const { assert!(COUNT * RUN == S::POINTS) };
    let (worker, of) = (worker.here(), &of.here());
    let thread = worker.thread;
    let outputs = Outputs::new(of, S::POINTS, first);
    // SAFETY: the caller's promise; the runs' memory comes after the marks'. A thread alone uses a
    // place's slot before the first step and after the last.
    unsafe {
        let gain = Gain::read(of.spectrum.add(S::POINTS / 2).read());
        let runs = Runs::<COUNT, RUN>::new(worker.after_marks::<S>());
        outputs.by_levels(of, runs, gain, [thread, S::THREADS], |level| {
            worker.places::<S>(|place, slot| {
                let starts = outputs.starts(of);
                write_number(
                    slot,
                    runs.parts(level, gain.ceiling(), of.signal, starts, place),
                );
            });
            rolled::convolve::<S, T>(worker, of.spectrum.cast());
            let back = level.back(gain);
            worker.places::<S>(|place, slot| {
                outputs.add(of, runs, place, back, read_number(slot));
            });
        });
    }
}

/// A warp's mark of its windows; a sign that they cannot be transformed as they are, if the taps
/// are not for that.
///
/// # Safety
/// All threads of a block of the shape call it.
#[inline(always)]
unsafe fn mark_window<S: Shape, T: Transformed, const E: usize>(
    (points, within): (&[Complex<T>; E], bool),
    of: &Operands<'_, T>,
    starts: [usize; 2],
    gain: Gain,
    thread: usize,
) -> Mark {
    let layout = Layout {
        points: S::POINTS,
        apart: S::THREADS,
        warp: warp_of(thread + zero_here()),
        lane: thread as u32 % 32,
    };
    // Computed after the loads, not kept in registers through them.
    let lengths = [of.signal.len(), of.taps.len() + zero_here()];
    // SAFETY: the caller's promise.
    unsafe {
        quiet::mark(
            (points, within),
            layout,
            |e| place::<S>(e) / S::THREADS,
            starts,
            lengths,
            gain.is_usual(of.taps.len()),
        )
    }
}

/// Multiplies by the taps' spectrum and swaps the parts.
///
/// # Safety
/// `spectrum` points to this thread's first pair; `ahead` has the first ones.
#[inline(always)]
pub(super) unsafe fn multiply<S: Shape, T: Transformed, const E: usize>(
    points: &mut [Complex<T>; E],
    spectrum: *const Pair<T>,
    ahead: Ahead<T>,
) {
    unrolled::<16>(|pair| {
        if 2 * pair < E {
            // SAFETY: the caller's promise.
            let load = || unsafe { spectrum.add(pair * S::THREADS).read() };
            let Pair([even, odd]) = ahead.pair(pair, load);
            points[2 * pair] = (points[2 * pair] * even).exchanged();
            points[2 * pair + 1] = (points[2 * pair + 1] * odd).exchanged();
        }
    });
}

/// The number of multiprocessors, or a little more: for hints.
#[gpu_only]
#[inline(always)]
fn multiprocessors() -> u32 {
    let number: u32;
    // SAFETY: reads a register.
    unsafe {
        core::arch::asm!(
            "mov.u32 {number}, %nsmid;",
            number = out(reg32) number,
            options(pure, nomem, nostack),
        );
    }
    number
}

/// Asks L2 for the line that a pointer points into.
#[gpu_only]
#[inline(always)]
fn prefetch<T>(pointer: *const T) {
    // SAFETY: a hint, of which only the time of later loads depends.
    unsafe {
        core::arch::asm!(
            "prefetch.L2 [{pointer}];",
            pointer = in(reg64) pointer,
            options(readonly, nostack),
        );
    }
}
