//! The outputs of a pair of windows: stored directly, or summed level by level (`quiet.rs`).
//!
//! Levels are rare. Their code is separate from the stores, so that it takes no registers there,
//! and its loops over samples and outputs are short.

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::complex::{Complex, Transformed};
use super::operands::Operands;
use super::quiet::{Gain, Level, Runs};
use super::shape::{Shape, discarded, place};
use crate::conv1d::direct::convolve_near_end;

/// The outputs of a pair of windows.
#[derive(Clone, Copy)]
pub(super) struct Outputs {
    /// The index of the first output.
    first: usize,
    /// The number of outputs in both windows.
    rest: usize,
    kept: usize,
    discarded: usize,
}

impl Outputs {
    /// The outputs from index `first`, of windows of `points` points.
    #[inline(always)]
    pub(super) fn new<T: Transformed>(of: &Operands<'_, T>, points: usize, first: usize) -> Self {
        let discarded = discarded(of.taps.len(), of.shift);
        let kept = points - discarded;
        Self {
            first,
            rest: (of.output.len() - first).min(2 * kept),
            kept,
            discarded,
        }
    }

    /// The index of each window's first sample.
    #[inline(always)]
    pub(super) fn starts<T: Transformed>(self, of: &Operands<'_, T>) -> [usize; 2] {
        let start = (self.first + of.offset)
            .wrapping_add(of.shift)
            .wrapping_sub(self.discarded);
        [start, start.wrapping_add(self.kept)]
    }

    /// The address of the first output.
    #[inline(always)]
    fn to<T: Transformed>(self, of: &Operands<'_, T>) -> *mut T {
        of.output.cast::<T>().wrapping_add(self.first)
    }

    /// Writes the kept points, imaginary parts first, because the inverse's parts are swapped.
    ///
    /// # Safety
    /// Nothing else uses the outputs.
    #[inline(always)]
    pub(super) unsafe fn store<S: Shape, T: Transformed, const E: usize>(
        self,
        of: &Operands<'_, T>,
        points: &[Complex<T>; E],
        thread: usize,
    ) {
        let first_rest = self.rest.min(self.kept) as u32;
        let second_rest = self.rest.saturating_sub(self.kept) as u32;
        let skipped = thread.wrapping_sub(self.discarded);
        let first = self.to(of).wrapping_add(skipped);
        let second = first.wrapping_add(self.kept);
        unrolled::<32>(|e| {
            if e < E {
                // Positions of discarded points have wrapped to large numbers.
                let at = (skipped as u32).wrapping_add(place::<S>(e) as u32);
                // SAFETY: the caller's promise: `at` is below the window's rest.
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

    /// Computes the outputs level by level. `convolve` adds a level's part by [`add`](Self::add);
    /// its first barrier orders everything written before it before the reads that follow.
    ///
    /// # Safety
    /// All threads of the block call it, with their number and the number of threads; nothing else
    /// uses the outputs and the runs' memory.
    #[inline(always)]
    pub(super) unsafe fn by_levels<T: Transformed, const COUNT: usize, const LENGTH: usize>(
        self,
        of: &Operands<'_, T>,
        runs: Runs<COUNT, LENGTH>,
        gain: Gain,
        [thread, threads]: [usize; 2],
        mut convolve: impl FnMut(Level),
    ) {
        let mut limit = gain.limit(of.taps.len(), LENGTH);
        // SAFETY: the caller's promise.
        unsafe {
            self.each([thread, threads], |at, _, _| {
                self.to(of).add(at).write(T::ZERO)
            });
            runs.measure(
                of.signal,
                self.starts(of),
                gain.ceiling(),
                [thread, threads],
            );
            loop {
                // Orders the measurements and the writes of outputs before later reads and writes,
                // and the reads of what runs reach before the next writes of it.
                thread::sync_threads();
                let (level, special) = runs.level::<T>(limit, thread);
                if level.is_empty() {
                    return self.finish(of, runs, gain, special, [thread, threads]);
                }
                runs.reach_level(thread, level);
                convolve(level);
                limit = level.floor;
            }
        }
    }

    /// Calls `body` for each of this thread's outputs, with its distance from the first one, its
    /// window, and its position there.
    #[inline(always)]
    fn each(self, [thread, threads]: [usize; 2], mut body: impl FnMut(usize, usize, usize)) {
        let mut at = thread;
        while at < self.rest {
            let window = usize::from(at >= self.kept);
            body(at, window, self.discarded + at - window * self.kept);
            at += threads;
        }
    }

    /// Adds a level's part at one position of both windows, with swapped parts, to the outputs
    /// there that the level reaches.
    ///
    /// # Safety
    /// No other thread uses the outputs at this position.
    #[inline(always)]
    pub(super) unsafe fn add<T: Transformed, const COUNT: usize, const LENGTH: usize>(
        self,
        of: &Operands<'_, T>,
        runs: Runs<COUNT, LENGTH>,
        place: usize,
        [half, rest]: [T; 2],
        point: Complex<T>,
    ) {
        // Positions of discarded points have wrapped to large numbers.
        let at = place.wrapping_sub(self.discarded);
        if at >= self.kept {
            return;
        }
        let add = |window: usize, part: T| {
            let at = window * self.kept + at;
            if at < self.rest && runs.is_reached(window, place - of.shift, of.taps.len()) {
                // SAFETY: the caller's promise.
                unsafe {
                    let output = self.to(of).add(at);
                    output.write(output.read() + part * half * rest);
                }
            }
        };
        add(0, point.im);
        add(1, point.re);
    }

    /// Computes by direct sums the outputs with special samples in their windows, or all outputs if
    /// the taps are not transformed at all. Needs a barrier before it.
    ///
    /// # Safety
    /// As for [`by_levels`](Self::by_levels).
    #[inline(always)]
    unsafe fn finish<T: Transformed, const COUNT: usize, const LENGTH: usize>(
        self,
        of: &Operands<'_, T>,
        runs: Runs<COUNT, LENGTH>,
        gain: Gain,
        special: bool,
        threads: [usize; 2],
    ) {
        let all = gain.limit(of.taps.len(), LENGTH) == 0;
        if !all && !special {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe {
            runs.reach_special(threads[0]);
            // Orders the marks of what special runs reach before the reads of them.
            thread::sync_threads();
            self.each(threads, |at, window, place| {
                let [first, second] = self.starts(of);
                let start = if window == 0 { first } else { second };
                let newest = [window, start, place - of.shift];
                let special = match all {
                    true => Some(T::ZERO),
                    false => runs.special(gain.ceiling(), of.signal, newest, of.taps.len()),
                };
                if let Some(sample) = special {
                    let centre = self.first + at + of.offset;
                    let sum = match sample.is_not_a_number() {
                        true => sample * T::ZERO,
                        false => convolve_near_end(of.signal, of.taps, centre),
                    };
                    self.to(of).add(at).write(sum);
                }
            });
        }
    }
}
