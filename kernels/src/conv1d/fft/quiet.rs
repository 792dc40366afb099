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
    WarpReductionOp, warp_reduce, warp_shuffle_idx, warp_vote_ballot,
};

use super::complex::{Complex, Pair, Transformed, complex, sample};
use super::shape::{MARKS, Shape};

/// The fewest taps with which a block may be transformed as a whole: the marked runs are this close
/// to every output.
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
    pub(super) fn is_usual(self) -> bool {
        self.ceiling > 0 && self.scale == 0
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

/// The loudness of a warp's loudest sample and of its quietest run.
pub(super) type Mark = [u32; 2];

/// The part of a window that is inside the signal, by positions in the window.
#[inline(always)]
fn inside(points: usize, start: usize, samples: usize) -> Range<u32> {
    // A start before the signal has wrapped to a large number.
    let before = 0_usize.wrapping_sub(start);
    let first = if before <= points { before } else { 0 };
    let left = samples.wrapping_sub(start).cast_signed();
    let end = if left < 0 { 0 } else { left as usize };
    first as u32..(if end < points { end } else { points }) as u32
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

/// The samples near an output: of all that windows and signal leave, and at the ends of a window.
#[derive(Clone, Copy)]
struct Near {
    within: u32,
    at_ends: u32,
}

/// Where the warps of a block or of a grid probe a pair of windows: half of them each window, each
/// in `each` places. A probe is 32 samples: eight groups of four adjacent ones, as far apart as the
/// filter allows, so that a zero crossing does not divide a block. Every output has a whole probe
/// nearby.
#[derive(Clone, Copy)]
pub(super) struct Probes {
    /// Points of a window: a power of two.
    pub(super) points: usize,
    /// Warps that probe: a power of two, at least 2.
    pub(super) warps: usize,
    /// At most [`MOST_PROBES`], a constant.
    pub(super) each: usize,
    /// Adjacent samples of a probe: 8 or 16, of which an access has one or two lines.
    pub(super) adjacent: usize,
    pub(super) warp: u32,
    pub(super) lane: u32,
}

/// The most probes of a warp.
pub(super) const MOST_PROBES: usize = 8;

impl Probes {
    /// The fewest probes of a window: all its warps have some.
    #[inline(always)]
    fn fewest(self) -> u32 {
        (self.each * self.warps / 2) as u32
    }

    /// The window that this warp probes, and the warp's number there.
    #[inline(always)]
    fn window(self) -> (u32, u32) {
        let half = self.warps as u32 / 2;
        // SAFETY: a warp has one number.
        unsafe {
            (
                assume_warp_uniform(self.warp / half),
                assume_warp_uniform(self.warp % half),
            )
        }
    }

    /// The samples from a probe's first to its last, so that of `probes` in `len` samples one is
    /// near every output; below 32, if there are too few.
    #[inline(always)]
    fn span(near: Near, len: u32, probes: u32) -> i32 {
        // Places are rounded.
        let rounded = 2;
        let within = near.within as i32 - (len / probes + rounded) as i32;
        let at_ends = near.at_ends as i32 - (len / (2 * probes) + rounded) as i32;
        within.min(at_ends).min(len as i32)
    }

    /// The place of this lane's sample in a probe.
    #[inline(always)]
    fn of_lane(self, span: u32) -> u32 {
        let adjacent = self.adjacent as u32;
        let apart = span.saturating_sub(adjacent) / (32 / adjacent - 1);
        self.lane / adjacent * (apart & !7) + self.lane % adjacent
    }

    /// Whether the fewest probes are enough for windows inside the signal.
    #[inline(always)]
    pub(super) fn are_enough(self, taps: usize) -> bool {
        taps >= MARKED_FROM && self.fewest_span(taps) >= 32
    }

    /// As [`span`](Self::span) for the fewest probes of a window inside the signal, the first of
    /// which begins and the last of which ends with the window: a multiple of 8, as their distances
    /// are, since 8 samples are a sector.
    #[inline(always)]
    fn fewest_span(self, taps: usize) -> i32 {
        let len = self.points as u32;
        let near = whole(taps, len);
        let apart = len / (self.fewest() - 1) + 8;
        let within = near.within as i32 - apart as i32;
        within.min(near.at_ends as i32).min(len as i32) & !7
    }

    /// Loads what this warp probes of windows inside the signal, if the fewest probes are enough,
    /// and calls `body` with each probe's number and this lane's loudness.
    ///
    /// # Safety
    /// All `points` samples from each of `firsts` on may be read.
    #[inline(always)]
    pub(super) unsafe fn load<T: Transformed>(
        self,
        firsts: [*const T; 2],
        taps: usize,
        mut body: impl FnMut(usize, u32),
    ) {
        let (window, warp) = self.window();
        let span = self.fewest_span(taps) as u32;
        let rest = self.points as u32 - span;
        let apart = (rest / (self.fewest() - 1) + 7) & !7;
        let place = warp * self.each as u32 * apart;
        let first = if window == 0 { firsts[0] } else { firsts[1] };
        let first = first.wrapping_add(self.of_lane(span) as usize);
        let mut loudness = [0; MOST_PROBES];
        unrolled::<MOST_PROBES>(|i| {
            if i < self.each {
                let place = (place + i as u32 * apart).min(rest);
                // SAFETY: the caller's promise: no probe ends after the window.
                loudness[i] = unsafe { *first.wrapping_add(place as usize) }.louder(0);
            }
        });
        unrolled::<MOST_PROBES>(|i| {
            if i < self.each {
                body(i, loudness[i]);
            }
        });
    }

    /// The loudness of the quietest of this warp's probes, of windows that may begin before the
    /// signal or end after it. With less than [`MARKED_FROM`] taps it is 0, which divides a block.
    ///
    /// # Safety
    /// All lanes of the warp call it.
    #[inline(always)]
    pub(super) unsafe fn quietest<T: Transformed>(
        self,
        signal: &[T],
        taps: usize,
        starts: [usize; 2],
    ) -> u32 {
        if taps < MARKED_FROM {
            return 0;
        }
        let (window, warp) = self.window();
        let start = if window == 0 { starts[0] } else { starts[1] };
        let Range { start: from, end } = inside(self.points, start, signal.len());
        if from >= end {
            return u32::MAX;
        }
        let len = end - from;
        let near = match len == self.points as u32 {
            true => whole(taps, len),
            // All samples, or as many as there are taps.
            false => {
                let near = taps.min(self.points) as u32;
                Near {
                    within: near,
                    at_ends: near,
                }
            }
        };
        let mut probes = self.fewest();
        while Self::span(near, len, probes) < 32.min(len as i32) {
            probes *= 2;
        }
        let span = Self::span(near, len, probes) as u32;
        let first = signal.as_ptr().wrapping_add(start);
        let mut quietest = u32::MAX;
        let mut probe = warp * self.each as u32;
        while probe < probes {
            let mut loudness = [u32::MAX; MOST_PROBES];
            unrolled::<MOST_PROBES>(|i| {
                if i < self.each {
                    let place = (2 * (probe + i as u32) + 1) * (len - span) / (2 * probes);
                    let at = from + place + self.of_lane(span).min(span - 1);
                    // SAFETY: it is below `end`, and so inside the signal.
                    loudness[i] = unsafe { *first.wrapping_add(at as usize) }.louder(0);
                }
            });
            // SAFETY: the caller's promise; the loop is uniform in a warp.
            quietest = unsafe { self.quietest_of(loudness) }.min(quietest);
            probe += self.fewest();
        }
        quietest
    }

    /// The loudness of this warp's quietest probe, from the loudness of each lane's samples.
    ///
    /// # Safety
    /// All lanes of the warp call it.
    #[inline(always)]
    pub(super) unsafe fn quietest_of(self, loudness: [u32; MOST_PROBES]) -> u32 {
        let mut quietest = u32::MAX;
        unrolled::<MOST_PROBES>(|i| {
            if i < self.each {
                // SAFETY: the caller's promise.
                quietest = unsafe { most(loudness[i]) }.min(quietest);
            }
        });
        quietest
    }
}

/// In a window inside the signal.
#[inline(always)]
fn whole(taps: usize, len: u32) -> Near {
    let taps = taps.min(len as usize) as u32;
    Near {
        within: 3 * taps - 2,
        at_ends: 2 * taps - 1,
    }
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
        let (mut last, mut first) = (0, 0);
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
