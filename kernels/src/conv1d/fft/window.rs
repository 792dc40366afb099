//! A pair of windows: two adjacent tiles as the real and imaginary parts of one transform. And the
//! taps, whose spectrum the same kernel writes for a later launch.

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::complex::{Complex, Pair, Transformed, complex, read_number, sample, write_number};
use super::operands::Operands;
use super::outputs::Outputs;
use super::passes::{Ahead, Worker};
use super::quiet::{self, Gain, Layout, Level, Mark, Runs, warp_of};
use super::shape::{RUN, Shape, discarded, place};

/// Loads two windows by their starts.
#[inline(always)]
fn load<S: Shape, T: Transformed, const E: usize>(
    signal: &[T],
    [start, later]: [usize; 2],
    thread: usize,
) -> [Complex<T>; E] {
    let mut points = [Complex::zero(); E];
    let kept = later.wrapping_sub(start);
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

/// What a block transforms next.
#[derive(Clone, Copy)]
enum Next {
    /// A pair of windows as it is.
    Windows,
    /// A level of a pair that is divided.
    Level(Level),
    /// The taps.
    Taps,
}

/// Computes all outputs; the blocks of the grid stride over pairs of windows. Without taps, writes
/// the spectrum of the signal to the output, as that of taps for another launch. `AHEAD`: whether
/// factors are loaded before the barriers, see [`Ahead`].
///
/// Windows, levels and taps go through the same code between what loads points and what stores
/// them, so that it is there once.
///
/// # Safety
/// All threads of the launch call it: one row of blocks of the shape along x, each with its shared
/// memory and table. The taps leave some outputs per window, the shift is below 32, `offset` plus
/// the output's length does not overflow, and nothing else uses the output. Without taps there is
/// one block, and the output is a spectrum, aligned to 16 bytes.
#[inline(always)]
pub(super) unsafe fn convolve<
    S: Shape,
    T: Transformed,
    const E: usize,
    const COUNT: usize,
    const AHEAD: bool,
>(
    worker: Worker<T>,
    of: Operands<'_, T>,
) {
    const { assert!(E * S::THREADS == S::POINTS && COUNT * RUN == S::POINTS) };
    let thread = worker.thread;
    let spectrum = of.spectrum.wrapping_add(thread);
    let mut first = 0;
    let mut step = 0;
    let mut next = Next::Taps;
    if !of.taps.is_empty() {
        let kept = S::POINTS - discarded(of.taps.len(), of.shift);
        first = thread::block_idx_x() as usize * 2 * kept;
        step = thread::grid_dim_x() as usize * 2 * kept;
        next = Next::Windows;
    }
    // SAFETY: the caller's promise; the outputs from `first` on belong to this block. The barriers
    // of the passes order the writes of marks and of the level before their reads, and the reads of
    // marks before the next ones' writes.
    unsafe {
        worker.write_level::<S>(Level::NONE);
        while first < of.output.len() {
            let mut points;
            let pairs;
            match next {
                Next::Windows => {
                    let (worker, of) = (worker.here(), of.here());
                    let thread = worker.thread;
                    let starts = Outputs::new(&of, S::POINTS, first).starts(&of);
                    let gain = Gain::read(of.spectrum.add(S::POINTS / 2).read());
                    points = load::<S, T, E>(of.signal, starts, thread);
                    // In flight along with the samples.
                    pairs = AHEAD.then(|| worker.ahead::<S>());
                    let mark = mark_window::<S, T, E>(&points, &of, starts, gain, thread);
                    worker.write_mark::<S>(mark);
                }
                Next::Level(level) => {
                    fill_level::<S, T, COUNT>(worker, &of, first, level);
                    points = worker.get_window::<S, E>();
                    pairs = AHEAD.then(|| worker.ahead::<S>());
                }
                Next::Taps => {
                    fill_taps::<S, T>(worker, &of);
                    points = worker.get_window::<S, E>();
                    pairs = AHEAD.then(|| worker.ahead::<S>());
                }
            }
            let ahead = worker.forward::<S, E, AHEAD>(&mut points, pairs, Some(spectrum));
            // Asked anew, so that there is no copy of the rest for each answer.
            if of.here().taps.is_empty() {
                return store_taps::<S, T, E>(worker, &mut points, &of);
            }
            multiply::<S, T, E>(&mut points, spectrum, ahead);
            let [loudest, _] = worker.mark::<S>(thread % quiet::warps::<S>());
            let [_, quietest] = worker.mark::<S>(thread / 32);
            // NaN reaches every point, and fits nowhere.
            let fits = points[0].re.abs() <= T::MOST;
            let vote = !fits || quiet::divides::<T>(loudest, quietest);
            if worker.inverse::<S, E, AHEAD>(&mut points, vote) {
                let level = next_level::<S, T, E, COUNT>(worker, &of, first, &points);
                if !level.is_empty() {
                    next = Next::Level(level);
                    continue;
                }
            } else {
                Outputs::new(&of, S::POINTS, first).store::<S, T, E>(&of, &points, thread);
            }
            next = Next::Windows;
            first += step;
        }
    }
}

/// What a block needs for the levels of the windows from output `first` on.
#[inline(always)]
unsafe fn divided<'a, S: Shape, T: Transformed, const COUNT: usize>(
    worker: Worker<T>,
    of: &Operands<'a, T>,
    first: usize,
) -> (Worker<T>, Operands<'a, T>, Outputs, Gain, Runs<COUNT, RUN>) {
    let (worker, of) = (worker.here(), of.here());
    let outputs = Outputs::new(&of, S::POINTS, first);
    // SAFETY: the spectrum's gain comes after it, and the runs' memory after the level.
    let (gain, runs) = unsafe {
        (
            Gain::read(of.spectrum.add(S::POINTS / 2).read()),
            Runs::new(worker.after_marks::<S>()),
        )
    };
    (worker, of, outputs, gain, runs)
}

/// Writes a level's samples to the places of their windows, and a mark with which the block votes
/// for the next level.
///
/// # Safety
/// As for [`convolve`]; `level` is from [`next_level`].
#[inline(always)]
unsafe fn fill_level<S: Shape, T: Transformed, const COUNT: usize>(
    worker: Worker<T>,
    of: &Operands<'_, T>,
    first: usize,
    level: Level,
) {
    // SAFETY: the caller's promise; a thread alone uses a place's slot before the first pass.
    unsafe {
        let (worker, of, outputs, gain, runs) = divided::<S, T, COUNT>(worker, of, first);
        worker.places::<S>(|place, slot| {
            let starts = outputs.starts(&of);
            let parts = runs.parts(level, gain.ceiling(), of.signal, starts, place);
            write_number(slot, parts);
        });
        worker.write_mark::<S>(quiet::DIVIDED);
    }
}

/// What comes after a block's vote to divide: the first level of these windows, or the next one
/// after the outputs of the last were added. An empty level if all outputs are complete.
///
/// # Safety
/// As for [`convolve`].
#[inline(always)]
unsafe fn next_level<S: Shape, T: Transformed, const E: usize, const COUNT: usize>(
    worker: Worker<T>,
    of: &Operands<'_, T>,
    first: usize,
    points: &[Complex<T>; E],
) -> Level {
    // SAFETY: the caller's promise; a thread alone uses a place's slot after the last pass.
    unsafe {
        let (worker, of, outputs, gain, runs) = divided::<S, T, COUNT>(worker, of, first);
        let threads = [worker.thread, S::THREADS];
        let last = worker.level::<S>();
        let limit = if last.is_empty() {
            outputs.begin(&of, runs, gain, threads)
        } else {
            worker.put_window::<S, E>(points);
            let back = last.back(gain);
            worker.places::<S>(|place, slot| {
                outputs.add(&of, runs, place, back, read_number(slot));
            });
            last.floor
        };
        // Orders the measurements, the reads of what runs reach and of the level, and the writes of
        // outputs before later accesses.
        thread::sync_threads();
        let level = outputs.next(&of, runs, gain, limit, threads);
        worker.write_level::<S>(level);
        level
    }
}

/// Writes the taps, delayed by the shift, to the places of a window, and their warp's mark. The
/// signal has the taps.
///
/// # Safety
/// As for [`convolve`].
#[inline(always)]
unsafe fn fill_taps<S: Shape, T: Transformed>(worker: Worker<T>, of: &Operands<'_, T>) {
    let mut loudest = 0;
    // SAFETY: the caller's promise; a thread alone uses a place's slot before the first pass.
    unsafe {
        worker.places::<S>(|place, slot| {
            let tap = sample(of.signal, place.wrapping_sub(of.shift));
            loudest = tap.loudness().max(loudest);
            write_number(slot, complex(tap, T::ZERO));
        });
        worker.write_mark::<S>([quiet::most(loudest), 0]);
    }
}

/// Writes the transformed taps to the output: their spectrum divided by the number of points, in
/// the order of [`multiply`], where adjacent threads have adjacent pairs, and the gain after it.
///
/// # Safety
/// As for [`convolve`].
#[inline(always)]
unsafe fn store_taps<S: Shape, T: Transformed, const E: usize>(
    worker: Worker<T>,
    points: &mut [Complex<T>; E],
    of: &Operands<'_, T>,
) {
    let log_points = S::POINTS.ilog2();
    let spectrum = of.output.cast::<Pair<T>>();
    // SAFETY: the caller's promise; the barriers of the passes ordered the marks' writes.
    unsafe {
        let [loudest, _] = worker.mark::<S>(worker.thread % quiet::warps::<S>());
        let gain = Gain::new::<T>(quiet::most(loudest), log_points);
        scale(points, gain.factor(log_points));
        store_spectrum::<S, T, E>(points, spectrum.add(worker.thread));
        if worker.thread == 0 {
            spectrum.add(S::POINTS / 2).write(gain.written());
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
    let layout = Layout {
        points: S::POINTS,
        apart: S::THREADS,
        warp: warp_of(thread),
        lane: thread as u32 % 32,
    };
    let lengths = [of.signal.len(), of.taps.len()];
    // SAFETY: the caller's promise.
    unsafe {
        quiet::mark(
            points,
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
    ahead: Option<Ahead<T>>,
) {
    unrolled::<16>(|pair| {
        if 2 * pair < E {
            let Pair([even, odd]) = match ahead {
                Some(pairs) if pair < pairs.len() => pairs[pair],
                // SAFETY: the caller's promise.
                _ => unsafe { spectrum.add(pair * S::THREADS).read() },
            };
            points[2 * pair] = (points[2 * pair] * even).exchanged();
            points[2 * pair + 1] = (points[2 * pair + 1] * odd).exchanged();
        }
    });
}
