//! Keeps quiet passages accurate beside loud ones.
//!
//! A transform's error is the same in all outputs of its block: some units of u·Σ|taps| times the
//! block's largest sample. So a block is transformed as a whole only if every output has a sample
//! of at least an eighth of that nearby: less than a filter's length from the output's own window.
//! While they load, the warps [mark](mark) how loud the loudest sample is, and how loud the
//! quietest of some runs of 32 samples. The block votes at a barrier that the inverse has anyway.
//!
//! A block that is *divided* by this vote, or that holds numbers which cannot be transformed, is
//! computed as follows:
//!
//! 1. Each [run](Runs) of samples gets its loudness. A run is no longer than the filter: a run that
//!    an output's own window meets is near that output.
//! 2. Runs within a factor of eight of the loudest are a [level](Level). Only they are transformed,
//!    scaled to about 1, so that nothing overflows or underflows, and added to the outputs whose
//!    own windows meet them. The loudest of the other runs are the next level, and so on. Outputs
//!    that meet no run stay exactly zero; a decay over 300 dB has 17 levels.
//! 3. Samples that are not finite, or so large that a sum might overflow, are in no level. Outputs
//!    with such a sample in their own windows are computed by direct sums.
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
use crate::here::zero_here;

/// The fewest taps with which a block may be transformed as a whole: the marked runs are this close
/// to every output.
pub(super) const MARKED_FROM: usize = 64;

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

/// What the kernel for the taps has found out about them.
#[derive(Clone, Copy)]
pub(super) struct Gain {
    /// The loudness up to which samples are transformed: no sum of their products overflows. 0 if
    /// there are no such samples.
    ceiling: u32,
    /// The spectrum is that of the taps times 2 to this power.
    scale: i32,
}

impl Gain {
    /// The gain of taps whose loudest has this loudness, for a transform of 2^`log_points` points.
    #[inline(always)]
    pub(super) fn new<T: Transformed>(loudest: u32, log_points: u32) -> Self {
        let exponent = (loudest >> T::LOUDNESS_BITS) as i32;
        let power = exponent - T::BIAS;
        // Taps that are not finite, or far from 1, have no good spectrum.
        if loudest > 0 && (power < -T::FAR || power > T::FAR) {
            return Self {
                ceiling: 0,
                scale: 0,
            };
        }
        // The sum has 2^log_points products of numbers below 2^(power + 1) and 2^(sample + 1).
        let sample = T::BIAS - power - log_points as i32 - 3;
        let biased = (sample + T::BIAS).min(2 * T::BIAS);
        let usual = loudest == 0 || (-T::NEAR..=T::NEAR).contains(&power);
        Self {
            ceiling: ((biased as u32 + 1) << T::LOUDNESS_BITS) - 1,
            scale: if usual { 0 } else { -power },
        }
    }

    /// Whether blocks may be transformed as a whole with these taps, if the marks allow it.
    #[inline(always)]
    pub(super) fn is_usual(self, taps: usize) -> bool {
        self.ceiling > 0 && self.scale == 0 && taps >= MARKED_FROM
    }

    /// The gain as written after a spectrum: the loudest sample that is transformed, and the taps'
    /// factor.
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

    /// The loudness up to which runs of this length are transformed; 0 if they are longer than the
    /// filter.
    #[inline(always)]
    pub(super) fn limit(self, taps: usize, length: usize) -> u32 {
        if taps < length { 0 } else { self.ceiling }
    }

    /// The spectrum's factor, divided by the number of points.
    #[inline(always)]
    pub(super) fn factor<T: Transformed>(self, log_points: u32) -> T {
        T::power(self.scale) * T::power(-(log_points as i32))
    }
}

/// The loudness of a thread's loudest point. NaN may be overlooked.
#[inline(always)]
pub(super) fn loudest<T: Transformed, const E: usize>(points: &[Complex<T>; E]) -> u32 {
    // Four chains, because each maximum waits for the one before it.
    let mut louder = [0; 4];
    unrolled::<32>(|e| {
        if e < E {
            let of_four = &mut louder[e % 4];
            *of_four = points[e].im.louder(points[e].re.louder(*of_four));
        }
    });
    let [a, b, c, d] = louder;
    a.max(b).max(c.max(d))
}

/// The loudness of a warp's loudest sample and of its quietest run.
pub(super) type Mark = [u32; 2];

/// The part of a window that is inside the signal, by positions in the window.
#[inline(always)]
pub(super) fn inside(points: usize, start: usize, samples: usize) -> Range<u32> {
    // A start before the signal has wrapped to a large number.
    let before = 0_usize.wrapping_sub(start);
    let first = if before <= points { before } else { 0 };
    let left = samples.wrapping_sub(start).cast_signed();
    let end = if left < 0 { 0 } else { left as usize };
    first as u32..(if end < points { end } else { points }) as u32
}

/// Which samples of two windows the registers of a block's or a grid's warps hold.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// Points of a window.
    pub(super) points: usize,
    /// Distance between the runs in a warp's registers: a power of two.
    pub(super) apart: usize,
    /// The position of the first run, in runs: below `apart` / 32.
    pub(super) warp: u32,
    pub(super) lane: u32,
}

/// A warp's mark: the loudness of its loudest sample and of its quietest run that counts. The runs
/// that count are near every output. NaN may be overlooked. Only with [`MARKED_FROM`] taps or more.
///
/// A register of a warp holds a run of 32 samples in each window; `order` gives the run's number by
/// position. In windows inside the signal the runs of one warp, or of every fourth, are close
/// enough. With many taps every output is near several adjacent runs, and the loudest of them
/// counts. If the signal begins or ends in a window, all runs count, except those outside it and
/// the last few samples, whose neighbours are near the same outputs.
///
/// `within` says whether both windows are inside the signal. `usual` is [`Gain::is_usual`];
/// otherwise the mark is one that divides the block.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
pub(super) unsafe fn mark<T: Transformed, const E: usize>(
    (points, within): (&[Complex<T>; E], bool),
    layout: Layout,
    order: impl Fn(usize) -> usize,
    starts: [usize; 2],
    [samples, taps]: [usize; 2],
    usual: bool,
) -> Mark {
    let Layout {
        apart, warp, lane, ..
    } = layout;
    // SAFETY: the caller's promise.
    let loudest = unsafe { most(loudest(points)) };
    let ranges = || starts.map(|start| inside(layout.points, start, samples));
    // With 16 points a thread the kernels are faster if this is found out anew: by what `ptxas`
    // keeps in 80 registers (docs/log/2026-11-26-quiet-passages.md).
    let within = match E {
        32 => within,
        _ => {
            let [first, second] = ranges();
            let whole = 0..layout.points as u32;
            first == whole && second == whole
        }
    };
    let many = 2 * taps >= apart + 32;
    if !usual || within && (if many { warp } else { warp % 4 }) != 1 {
        return [loudest, if usual { u32::MAX } else { 0 }];
    }
    let counted = |inside: Range<u32>| {
        let place = 32 * warp + lane * apart as u32;
        place + 32 > inside.start && (place + 32 <= inside.end || place == 0 && inside.end > 0)
    };
    let mut counts = [true; 2];
    // 2^d neighbours lie in every neighbourhood for each power d with 2^(d − 1)·apart + 16 ≤ taps.
    let mut doublings = 0;
    let quarter = loudest.saturating_sub(2 << T::LOUDNESS_BITS);
    // SAFETY: the caller's promise; the branches here and above are uniform in a warp.
    let quietest = unsafe {
        let mut others = [0; 2];
        if within {
            let neighbours = (taps.saturating_sub(16) >> apart.trailing_zeros()) as u32;
            doublings = 32 - neighbours.leading_zeros();
        } else {
            counts = ranges().map(counted);
            others = counts.map(|counts| !warp_vote_ballot(u32::MAX, counts));
            let all = u32::MAX >> (32 - E);
            if others[0] & others[1] & all == all {
                return [loudest, u32::MAX];
            }
        }
        // The other warps wait for this one: this is enough as a rule.
        let loud = if doublings >= 2 {
            are_lasts_loud(points, &order, quarter)
        } else {
            are_others_loud(points, &order, quarter, others)
        };
        if loud {
            quarter
        } else {
            quietest_run(points, lane, &order, counts, doublings)
        }
    };
    [loudest, quietest]
}

/// Whether the last of each four adjacent runs is at least this loud in each window. Takes a
/// fraction of the time of [`quietest_run`].
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
unsafe fn are_lasts_loud<T: Transformed, const E: usize>(
    points: &[Complex<T>; E],
    order: impl Fn(usize) -> usize,
    loudness: u32,
) -> bool {
    const { assert!(E.is_multiple_of(8), "two runs at a time") };
    // Four chains, because each vote waits for the one before it.
    let mut all = [1; 4];
    let mut numbers = [T::ZERO; 4];
    let mut taken = 0;
    unrolled::<E>(|e| {
        if order(e) % 4 == 3 {
            numbers[taken % 4] = points[e].re;
            numbers[taken % 4 + 1] = points[e].im;
            taken += 2;
            if taken % 4 == 0 {
                // SAFETY: the caller's promise.
                all = unsafe { T::are_as_loud(numbers, loudness, all) };
            }
        }
    });
    let [a, b, c, d] = all;
    // SAFETY: votes are the same in all lanes.
    unsafe { assume_warp_uniform(a & b & c & d) != 0 }
}

/// As [`are_lasts_loud`] for all runs but `others`: a bit for each run by position.
///
/// # Safety
/// All lanes of the warp call it.
#[inline(always)]
unsafe fn are_others_loud<T: Transformed, const E: usize>(
    points: &[Complex<T>; E],
    order: impl Fn(usize) -> usize,
    loudness: u32,
    others: [u32; 2],
) -> bool {
    // A lane's own first, and one instruction for all lanes: two votes for each run take twice the
    // code. Opaque, or LLVM would compare ahead of branches, in more registers than there are.
    let loudness = loudness + zero_here() as u32;
    let mut loud = others;
    unrolled::<E>(|e| {
        let run = 1 << order(e);
        loud[0] |= if points[e].re.is_as_loud(loudness) {
            run
        } else {
            0
        };
        loud[1] |= if points[e].im.is_as_loud(loudness) {
            run
        } else {
            0
        };
    });
    let all = u32::MAX >> (32 - E);
    // SAFETY: the caller's promise.
    let [first, second] =
        loud.map(|loud| unsafe { warp_reduce(u32::MAX, loud, WarpReductionOp::Or) });
    first & second & all == all
}

/// The loudness of the quietest run that counts; with many taps, of the loudest of each 2 to the
/// power `doublings` neighbours.
///
/// # Safety
/// As for [`are_lasts_loud`].
#[inline(always)]
unsafe fn quietest_run<T: Transformed, const E: usize>(
    points: &[Complex<T>; E],
    lane: u32,
    order: impl Fn(usize) -> usize,
    counts: [bool; 2],
    doublings: u32,
) -> u32 {
    // Each lane takes one run, by position.
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
            // SAFETY: the caller's promise. Lanes beyond the last run hold 0, and beyond the warp a
            // lane gets its own number.
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

/// Whether a warp's loudest sample and a warp's quietest run require that the block is divided.
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

    /// The factor of the outputs, in two parts: their product may not be a normal number.
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
    /// The runs' loudness, 2 · COUNT numbers, then as many for [`reach`](Self::reach).
    memory: *mut u32,
}

impl<const COUNT: usize, const LENGTH: usize> Runs<COUNT, LENGTH> {
    /// # Safety
    /// `memory` is shared memory of 4 · COUNT numbers, which nothing else uses.
    #[inline(always)]
    pub(super) unsafe fn new(memory: *mut u32) -> Self {
        const { assert!(COUNT.is_multiple_of(32) && LENGTH.is_multiple_of(32)) };
        Self { memory }
    }

    /// Measures all runs. Needs a barrier afterwards.
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
            let mut at = if LENGTH > 32 { zero_here() } else { 0 };
            while at < LENGTH {
                let loudness = sample(signal, first.wrapping_add(at)).loudness();
                if loudness > ceiling {
                    special = SPECIAL;
                } else {
                    loudest = loudest.max(loudness);
                }
                at += 32;
            }
            // SAFETY: the caller's promise; a warp's lanes have the same run.
            unsafe {
                let loudness = most(loudest) | most(special);
                if lane == 0 {
                    self.memory.add(run).write(loudness);
                }
            }
            run += threads / 32;
        }
    }

    /// The loudness of the run that contains a sample of one of the windows.
    #[inline(always)]
    fn of(self, window: usize, at: usize) -> u32 {
        // SAFETY: as `new` was promised.
        unsafe { self.memory.add(window * COUNT + at / LENGTH).read() }
    }

    /// The level of the loudest run that is at most as loud as `limit`; and whether any run is
    /// special. Needs a barrier before it.
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
        // SAFETY: the caller's promise. Each warp has read all runs, so all threads get the same
        // numbers.
        let (loudest, special) = unsafe {
            (
                assume_block_uniform(most(loudest)),
                assume_block_uniform(most(special)),
            )
        };
        let eighth = (T::of_loudness(loudest) * T::power(-3)).loudness();
        // An eighth of the smallest numbers may have the same loudness.
        let floor = eighth.min(loudest.saturating_sub(1));
        (Level { loudest, floor }, special != 0)
    }

    /// A level's samples at one position of both windows, scaled.
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

    /// For each run, finds the last run up to it that `is_met` accepts, and writes its number plus
    /// one, or 0. Needs a barrier before and after it.
    ///
    /// # Safety
    /// All threads of the block call it, at least two warps.
    #[inline(always)]
    pub(super) unsafe fn reach(self, thread: usize, is_met: impl Fn(u32) -> bool) {
        let (window, lane) = (warp_of(thread) as usize, thread % 32);
        if window >= 2 {
            return;
        }
        // An opaque start where there are many: LLVM would unroll this, which is rare.
        let is_long = COUNT > 128 || LENGTH > 32;
        let mut first = if is_long { zero_here() } else { 0 };
        let mut last = 0;
        while first < COUNT {
            let run = window * COUNT + first + lane;
            // SAFETY: as `new` was promised; branches are uniform in a warp, and each warp has its
            // own window.
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

    /// [`reach`](Self::reach) for a level's runs.
    ///
    /// # Safety
    /// As for [`reach`](Self::reach).
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

    /// [`reach`](Self::reach) for the special runs.
    ///
    /// # Safety
    /// As for [`reach`](Self::reach).
    #[inline(always)]
    pub(super) unsafe fn reach_special(self, thread: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.reach(thread, |run| run & SPECIAL != 0) };
    }

    /// The number that [`reach`](Self::reach) wrote for a run. Needs a barrier before it.
    #[inline(always)]
    fn last(self, window: usize, run: usize) -> usize {
        // SAFETY: as `new` was promised.
        unsafe { self.memory.add((2 + window) * COUNT + run).read() as usize }
    }

    /// Whether a run that `reach` accepted meets the `taps` samples of a window up to `at`.
    #[inline(always)]
    pub(super) fn is_reached(self, window: usize, at: usize, taps: usize) -> bool {
        self.last(window, at / LENGTH) > (at + 1 - taps) / LENGTH
    }

    /// The newest sample that is in no level, among the `taps` samples of a window up to `at`, if
    /// there is one. Needs [`reach_special`](Self::reach_special) before it.
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
