//! Quiet passages beside loud ones.
//!
//! A transform's error is the same in all outputs of its block: some units of u·Σ|taps| times the
//! block's largest sample. So a block is transformed as it is only if every output has a sample
//! nearby, less than a filter's length from its own window, of at least an eighth of that: while
//! they load, the warps [mark](mark) how loud the loudest sample and the quietest of some runs of 32
//! samples are, and the block votes at a barrier of the inverse that is there anyway.
//!
//! A block that is *divided* by this vote, or that holds numbers which a transform cannot take,
//! goes another way:
//!
//! 1. Each [run](Runs) of samples gets its loudness. A run is no longer than the filter: a run that
//!    an output's own window meets is near that output.
//! 2. Runs within a factor of eight of the loudest are a [level](Level). They alone are transformed,
//!    scaled to about 1, so that nothing over- or underflows, and added to those outputs whose own
//!    windows meet them. Then come the loudest of the other runs. Outputs that meet no run stay
//!    exactly zero; a decay over 300 dB has 17 levels.
//! 3. Samples that are not finite, or so large that a sum might overflow, are in no level. Outputs
//!    that have one in their own windows are direct sums.
//!
//! The error at an output is then at most 8·(1 + 1/8 + …) times the transform's own, which is below
//! 1.2·log₂N units of u·Σ|taps|·max|samples| (docs/log/2026-11-26-quiet-passages.md); the
//! bound is 16·log₂N.

use core::ops::Range;

use cuda_std::uniform::{assume_block_uniform, assume_warp_uniform};
use cuda_std::unroll::unrolled;
use cuda_std::warp::{
    WarpReductionOp, warp_reduce, warp_shuffle_down, warp_shuffle_idx, warp_vote_ballot,
};

use super::complex::{Complex, Pair, Transformed, complex, sample};
use super::shape::{MARKS, Shape};

/// The fewest taps with which a block may be transformed as it is: the runs that are marked are
/// this close to every output.
const MARKED_FROM: usize = 64;

/// The largest of the lanes' numbers.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
pub(super) unsafe fn most(number: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { warp_reduce(u32::MAX, number, WarpReductionOp::Max) }
}

/// The smallest of the lanes' numbers.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
pub(super) unsafe fn least(number: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { warp_reduce(u32::MAX, number, WarpReductionOp::Min) }
}

/// The thread's warp.
#[inline(always)]
pub(super) fn warp_of(thread: usize) -> u32 {
    // SAFETY: blocks have one dimension.
    unsafe { assume_warp_uniform(thread as u32 / 32) }
}

/// What the kernel for the taps found out about them.
#[derive(Clone, Copy)]
pub(super) struct Gain {
    /// The loudness up to which samples are transformed: no sum of their products overflows. 0 if
    /// there are no such samples.
    ceiling: u32,
    /// The spectrum is that of the taps times 2 to this power.
    scale: i32,
}

impl Gain {
    /// Of taps whose loudest has this loudness, for a transform of 2^`log_points` points.
    #[inline(always)]
    pub(super) fn new<T: Transformed>(loudest: u32, log_points: u32) -> Self {
        let exponent = (loudest >> T::LOUDNESS_BITS) as i32;
        let power = exponent - T::BIAS;
        // Of taps that are not finite or far from 1 there is no good spectrum.
        if loudest > 0 && (power < -T::FAR || power > T::FAR) {
            return Self {
                ceiling: 0,
                scale: 0,
            };
        }
        // 2^log_points products of numbers below 2^(power + 1) and 2^(sample + 1).
        let sample = T::BIAS - power - log_points as i32 - 3;
        let biased = (sample + T::BIAS).min(2 * T::BIAS);
        let usual = loudest == 0 || (-T::NEAR..=T::NEAR).contains(&power);
        Self {
            ceiling: ((biased as u32 + 1) << T::LOUDNESS_BITS) - 1,
            scale: if usual { 0 } else { -power },
        }
    }

    /// Whether samples around 1 may be transformed with these taps as they are, by the marks.
    #[inline(always)]
    pub(super) fn is_usual(self, taps: usize) -> bool {
        self.ceiling > 0 && self.scale == 0 && taps >= MARKED_FROM
    }

    /// As it is after a spectrum: the loudest sample that is transformed, and the factor of the taps.
    #[inline(always)]
    pub(super) fn written<T: Transformed>(self) -> Pair<T> {
        let numbers = complex(T::of_loudness(self.ceiling), T::power(self.scale));
        Pair([numbers, Complex::zero()])
    }

    #[inline(always)]
    pub(super) fn read<T: Transformed>(written: Pair<T>) -> Self {
        let Pair([numbers, _]) = written;
        Self {
            ceiling: numbers.re.loudness(),
            scale: (numbers.im.loudness() >> T::LOUDNESS_BITS) as i32 - T::BIAS,
        }
    }

    #[inline(always)]
    pub(super) fn ceiling(self) -> u32 {
        self.ceiling
    }

    /// How loud runs of this length may be that are transformed: 0 if they are longer than the
    /// filter.
    #[inline(always)]
    pub(super) fn limit(self, taps: usize, length: usize) -> u32 {
        if taps < length { 0 } else { self.ceiling }
    }

    /// The factor in the spectrum, divided by the number of points.
    #[inline(always)]
    pub(super) fn factor<T: Transformed>(self, log_points: u32) -> T {
        T::power(self.scale) * T::power(-(log_points as i32))
    }
}

/// What a warp says about a block's samples.
pub(super) type Mark = [u32; 2];

/// The part of a window that is inside the signal, by positions in the window.
#[inline(always)]
fn inside(points: usize, start: usize, samples: usize) -> Range<u32> {
    // A start before the signal has wrapped.
    let before = 0_usize.wrapping_sub(start);
    let first = if before <= points { before } else { 0 };
    let left = samples.wrapping_sub(start).cast_signed();
    let end = if left < 0 { 0 } else { left as usize };
    first as u32..(if end < points { end } else { points }) as u32
}

/// How a block's or a grid's warps have two windows in their registers.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// Points of a window.
    pub(super) points: usize,
    /// Distance of the runs that a warp's registers hold: a power of two.
    pub(super) apart: usize,
    /// The place of the first run in runs: below `apart` / 32.
    pub(super) warp: u32,
    pub(super) lane: u32,
}

/// Marks a warp's samples: how loud the loudest is, and the quietest of the runs that every output
/// has one of nearby. NaN may be overlooked. Only with [`MARKED_FROM`] taps.
///
/// A register of a warp holds a run of 32 samples in each window; `order` tells which in the order
/// of their places. In windows inside the signal one
/// warp's runs, or every fourth's, are close enough. With many taps several runs together are close
/// to every output, and the loudest of them counts. Where the signal begins or ends in a window all
/// runs count; but not those outside it, nor the last few samples, whose neighbours are near the
/// same outputs.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
pub(super) unsafe fn mark<T: Transformed, const E: usize>(
    points: &[Complex<T>; E],
    layout: Layout,
    order: impl Fn(usize) -> usize,
    starts: [usize; 2],
    [samples, taps]: [usize; 2],
) -> Mark {
    let Layout {
        apart, warp, lane, ..
    } = layout;
    // Four chains: a maximum has to wait for the one before it.
    let mut louder = [0; 4];
    unrolled::<32>(|e| {
        if e < E {
            let of_four = &mut louder[e % 4];
            *of_four = points[e].im.louder(points[e].re.louder(*of_four));
        }
    });
    let [a, b, c, d] = louder;
    // SAFETY: the caller's promise.
    let loudest = unsafe { most(a.max(b).max(c.max(d))) };
    let [first, second] = starts.map(|start| inside(layout.points, start, samples));
    let whole = 0..layout.points as u32;
    let within = first == whole && second == whole;
    let many = 2 * taps >= apart + 32;
    if within && (if many { warp } else { warp % 4 }) != 1 {
        return [loudest, u32::MAX];
    }
    let counted = |inside: Range<u32>| {
        let place = 32 * warp + lane * apart as u32;
        place + 32 > inside.start && (place + 32 <= inside.end || place == 0 && inside.end > 0)
    };
    let mut counts = [true; 2];
    if !within {
        counts = [counted(first), counted(second)];
    }
    // 2^d neighbours lie in every neighbourhood for each power d with 2^(d − 1)·apart + 16 ≤ taps.
    let neighbours = (taps.saturating_sub(16) >> apart.trailing_zeros()) as u32;
    let doublings = if within {
        32 - neighbours.leading_zeros()
    } else {
        0
    };
    // SAFETY: the caller's promise: the branches above are the same for a warp.
    let quietest = unsafe {
        let quarter = loudest.saturating_sub(2 << T::LOUDNESS_BITS);
        match are_loud(points, &order, quarter, counts, doublings) {
            Some(true) => quarter,
            Some(false) => quietest_run(points, lane, &order, counts, doublings),
            None => u32::MAX,
        }
    };
    [loudest, quietest]
}

/// Whether all runs that count are at least as loud as this, or, with many taps, one of each 2 to
/// the `doublings` neighbours; `None` if none counts. A fifth of the instructions that
/// [`quietest_run`] needs.
///
/// # Safety
/// All lanes of the warp call it. `counts` is for the run of the lane's number in each window.
#[inline(always)]
unsafe fn are_loud<T: Transformed, const E: usize>(
    points: &[Complex<T>; E],
    order: impl Fn(usize) -> usize,
    loudness: u32,
    counts: [bool; 2],
    doublings: u32,
) -> Option<bool> {
    // A bit for each run, in the order of their places.
    let all = u32::MAX >> (32 - E);
    // SAFETY: the caller's promise.
    let others = counts.map(|counts| unsafe { !warp_vote_ballot(u32::MAX, counts) } & all);
    if others == [all; 2] {
        return None;
    }
    let mut loud = others;
    unrolled::<32>(|e| {
        if e < E {
            let bit = 1 << order(e);
            if points[e].re.is_as_loud(loudness) {
                loud[0] |= bit;
            }
            if points[e].im.is_as_loud(loudness) {
                loud[1] |= bit;
            }
        }
    });
    let [first, second] = loud.map(|mut runs| {
        // SAFETY: the caller's promise.
        runs = unsafe { warp_reduce(u32::MAX, runs, WarpReductionOp::Or) };
        // Past the last register's run come none.
        unrolled::<5>(|doubling| {
            let neighbour = if doubling < doublings as usize {
                1 << doubling
            } else {
                0
            };
            runs |= runs >> neighbour;
        });
        runs
    });
    Some(first & second == all)
}

/// How loud the quietest run that counts is, or, with many taps, the loudest of 2 to the `doublings`
/// neighbours.
///
/// # Safety
/// As for [`are_loud`].
#[inline(always)]
unsafe fn quietest_run<T: Transformed, const E: usize>(
    points: &[Complex<T>; E],
    lane: u32,
    order: impl Fn(usize) -> usize,
    counts: [bool; 2],
    doublings: u32,
) -> u32 {
    // A lane each, in the order of their places.
    let mut runs = [0; 2];
    unrolled::<32>(|e| {
        if e < E {
            // SAFETY: the caller's promise.
            let both = unsafe { [most(points[e].re.louder(0)), most(points[e].im.louder(0))] };
            if lane as usize == order(e) {
                runs = both;
            }
        }
    });
    let or_loud = |window: usize| {
        if counts[window] {
            runs[window]
        } else {
            u32::MAX
        }
    };
    runs = [or_loud(0), or_loud(1)];
    for doubling in 0..doublings.min(5) {
        runs = runs.map(|run| {
            // SAFETY: the caller's promise. Past the last register's run come none.
            let (next, _) = unsafe { warp_shuffle_down(u32::MAX, run, 1 << doubling, 32) };
            run.max(next)
        });
    }
    let quietest = match (lane as usize) < E {
        true => runs[0].min(runs[1]),
        false => u32::MAX,
    };
    // SAFETY: the caller's promise.
    unsafe { least(quietest) }
}

/// Whether a warp's loudest sample and a warp's quietest run keep a block from being transformed as
/// it is.
#[inline(always)]
pub(super) fn divides<T: Transformed>(loudest: u32, quietest: u32) -> bool {
    let eighth = loudest.saturating_sub(3 << T::LOUDNESS_BITS);
    loudest > T::LOUDEST || quietest < T::QUIETEST || eighth > quietest
}

/// Runs that are transformed together: those louder than `floor` and at most `loudest`.
#[derive(Clone, Copy)]
pub(super) struct Level {
    pub(super) loudest: u32,
    pub(super) floor: u32,
}

impl Level {
    /// Whether no run is left.
    #[inline(always)]
    pub(super) fn is_empty(self) -> bool {
        self.loudest == 0
    }

    /// The level's scale as a power of two.
    #[inline(always)]
    fn scale<T: Transformed>(self) -> i32 {
        let power = T::BIAS - (self.loudest >> T::LOUDNESS_BITS) as i32;
        power.clamp(1 - T::BIAS, T::BIAS - 1)
    }

    /// The factor of the samples.
    #[inline(always)]
    pub(super) fn factor<T: Transformed>(self) -> T {
        T::power(self.scale::<T>())
    }

    /// What brings an output back: the product of the two, which may be no normal number.
    #[inline(always)]
    pub(super) fn back<T: Transformed>(self, gain: Gain) -> [T; 2] {
        let power = -(self.scale::<T>() + gain.scale);
        [T::power(power / 2), T::power(power - power / 2)]
    }
}

/// Set in the loudness of a run with a sample that is in no level.
const SPECIAL: u32 = 1 << 31;

/// The loudness of each run of `LENGTH` samples, of two windows of `COUNT` runs.
#[derive(Clone, Copy)]
pub(super) struct Runs<const COUNT: usize, const LENGTH: usize> {
    /// 2 · COUNT of them, then as many places for [`reach`](Self::reach).
    memory: *mut u32,
}

impl<const COUNT: usize, const LENGTH: usize> Runs<COUNT, LENGTH> {
    /// # Safety
    /// `memory` is shared memory of 4 · COUNT numbers, of which nothing else makes use.
    #[inline(always)]
    pub(super) unsafe fn new(memory: *mut u32) -> Self {
        const { assert!(COUNT.is_multiple_of(32) && LENGTH.is_multiple_of(32)) };
        Self { memory }
    }

    /// Measures all runs. Before a barrier.
    ///
    /// # Safety
    /// All threads of the block call it.
    #[inline(always)]
    pub(super) unsafe fn measure<T: Transformed>(
        self,
        signal: &[T],
        starts: [usize; 2],
        ceiling: u32,
        [thread, threads]: [usize; 2],
    ) {
        let (mut run, lane) = (warp_of(thread) as usize, thread % 32);
        while run < 2 * COUNT {
            let start = if run < COUNT { starts[0] } else { starts[1] };
            let first = start.wrapping_add(run % COUNT * LENGTH + lane);
            let (mut loudest, mut special) = (0, 0);
            let mut at = 0;
            while at < LENGTH {
                let loudness = sample(signal, first.wrapping_add(at)).loudness();
                if loudness > ceiling {
                    special = SPECIAL;
                } else {
                    loudest = loudest.max(loudness);
                }
                at += 32;
            }
            // SAFETY: the caller's promise: a warp has the same runs.
            unsafe {
                let loudness = most(loudest) | most(special);
                if lane == 0 {
                    self.memory.add(run).write(loudness);
                }
            }
            run += threads / 32;
        }
    }

    /// The loudness of the run of a sample in one of the windows.
    #[inline(always)]
    fn of(self, window: usize, at: usize) -> u32 {
        // SAFETY: as `new` was promised.
        unsafe { self.memory.add(window * COUNT + at / LENGTH).read() }
    }

    /// The loudest run at most as loud as `limit` and those that go with it; and whether any run is
    /// special. After a barrier.
    ///
    /// # Safety
    /// All threads of the block call it.
    #[inline(always)]
    pub(super) unsafe fn level<T: Transformed>(self, limit: u32, thread: usize) -> (Level, bool) {
        let (mut loudest, mut special) = (0, 0);
        let mut run = thread % 32;
        while run < 2 * COUNT {
            // SAFETY: as `new` was promised.
            let both = unsafe { self.memory.add(run).read() };
            let loudness = both & !SPECIAL;
            if loudness <= limit {
                loudest = loudest.max(loudness);
            }
            special |= both & SPECIAL;
            run += 32;
        }
        // SAFETY: the caller's promise. Each warp has read all runs.
        let (loudest, special) = unsafe {
            (
                assume_block_uniform(most(loudest)),
                assume_block_uniform(most(special)),
            )
        };
        let eighth = (T::of_loudness(loudest) * T::power(-3)).loudness();
        // Of the smallest numbers an eighth may be as loud.
        let floor = eighth.min(loudest.saturating_sub(1));
        (Level { loudest, floor }, special != 0)
    }

    /// A level's samples at a place of both windows, scaled.
    #[inline(always)]
    pub(super) fn parts<T: Transformed>(
        self,
        level: Level,
        ceiling: u32,
        signal: &[T],
        starts: [usize; 2],
        place: usize,
    ) -> Complex<T> {
        let part = |window: usize, start: usize| {
            let loudness = self.of(window, place) & !SPECIAL;
            let sample = sample(signal, start.wrapping_add(place));
            if level.floor < loudness && loudness <= level.loudest && sample.loudness() <= ceiling {
                sample * level.factor()
            } else {
                T::ZERO
            }
        };
        complex(part(0, starts[0]), part(1, starts[1]))
    }

    /// Writes, for each run, one more than the place of the last run up to it that `is_met` takes,
    /// or 0. Between two barriers.
    ///
    /// # Safety
    /// All threads of the block call it, at least two warps.
    #[inline(always)]
    pub(super) unsafe fn reach(self, thread: usize, is_met: impl Fn(u32) -> bool) {
        let (window, lane) = (warp_of(thread) as usize, thread % 32);
        if window >= 2 {
            return;
        }
        let (mut last, mut first) = (0, 0);
        while first < COUNT {
            let run = window * COUNT + first + lane;
            // SAFETY: as `new` was promised; a warp takes the branches together, and has a window
            // of its own.
            unsafe {
                let met = is_met(self.memory.add(run).read());
                let met = warp_vote_ballot(u32::MAX, met) & (u32::MAX >> (31 - lane));
                if met != 0 {
                    last = first as u32 + 32 - met.leading_zeros();
                }
                self.memory.add(2 * COUNT + run).write(last);
                (last, _) = warp_shuffle_idx(u32::MAX, last, 31, 32);
            }
            first += 32;
        }
    }

    /// [`reach`](Self::reach) of a level.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub(super) unsafe fn reach_level(self, thread: usize, level: Level) {
        // SAFETY: the caller's promise.
        unsafe {
            self.reach(thread, |run| {
                let loudness = run & !SPECIAL;
                level.floor < loudness && loudness <= level.loudest
            });
        }
    }

    /// [`reach`](Self::reach) of the special runs.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub(super) unsafe fn reach_special(self, thread: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.reach(thread, |run| run & SPECIAL != 0) };
    }

    /// What [`reach`](Self::reach) wrote for a run. After a barrier.
    #[inline(always)]
    fn last(self, window: usize, run: usize) -> usize {
        // SAFETY: as `new` was promised.
        unsafe { self.memory.add((2 + window) * COUNT + run).read() as usize }
    }

    /// Whether a run that `reach` took is among the `taps` samples of a window up to `at`.
    #[inline(always)]
    pub(super) fn is_reached(self, window: usize, at: usize, taps: usize) -> bool {
        self.last(window, at / LENGTH) > (at + 1 - taps) / LENGTH
    }

    /// The newest of the `taps` samples of a window up to `at` that is in no level, if there is
    /// one, after [`reach_special`](Self::reach_special).
    #[inline(always)]
    pub(super) fn special<T: Transformed>(
        self,
        ceiling: u32,
        signal: &[T],
        [window, start, at]: [usize; 3],
        taps: usize,
    ) -> Option<T> {
        let oldest = at + 1 - taps;
        let mut end = self.last(window, at / LENGTH);
        while end > oldest / LENGTH {
            let run = end - 1;
            let mut place = (end * LENGTH).min(at + 1);
            while place > oldest && place > run * LENGTH {
                place -= 1;
                let sample = sample(signal, start.wrapping_add(place));
                if sample.loudness() > ceiling {
                    return Some(sample);
                }
            }
            if run == 0 {
                break;
            }
            end = self.last(window, run - 1);
        }
        None
    }
}

/// The number of warps of a shape that [mark](mark).
pub(super) const fn warps<S: Shape>() -> usize {
    assert!(S::THREADS / 32 <= MARKS);
    S::THREADS / 32
}
