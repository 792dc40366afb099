//! The inner loop of the convolutions in registers: a thread's adjacent outputs and their samples.
//!
//! A thread owns PACKS packs of adjacent outputs. Tap k of output r needs sample r − k, counted
//! from the sample of tap 0 of output 0. A step adds as many taps as the thread has outputs. `high`
//! holds the samples from 0 up; `low`, the OUTPUTS samples below them, is loaded in the step and
//! becomes the next step's `high`. So one 16-byte load of samples and one of taps serve PACKS ·
//! LANES² multiply-adds: 80 of `f32` with 5 packs.
//!
//! All lanes load the same taps (broadcast). Their samples are PACKS packs apart: with an odd
//! number, the eight lanes that one 16-byte access serves together are in different banks.
//!
//! | share of the FMA peak, H200 | 255 taps | 1023 taps |
//! | --- | --- | --- |
//! | **two steps in a loop, `high` and `low` changing places** | 0.84 | 0.88 |
//! | PACKS + 1 packs held, the highest replaced by the next lower one: fewer registers, more dispatch stalls | 0.78 | 0.80 |
//! | one step in a loop, `low` moved to `high` | 0.75 | 0.77 |
//!
//! With 1023 taps the schedulers issue in 89 % of the cycles, and in nearly all others every warp
//! has a dispatch stall. A multiply-add has three operands; the register file delivers two per
//! cycle, one of each parity, and an operand that the previous instruction read in the same
//! position is free. By its listing the loop reads 2.26 registers per multiply-add. `ptxas` chooses
//! the order: other orders in the source (taps descending, alternating, four taps sample by sample)
//! gave 2.20 to 2.32; those that were timed were within 1 %, or up to 2 % slower.

use core::ops::Range;

use crate::number::Real;
use crate::pack::Pack;
use cuda_std::unroll::unrolled;

/// Adds `count` taps to the sums, in order. With LAST_TWICE the last step is compiled once for each
/// position of the samples, so that no moves are needed before it: 2 % faster in `window` with 63
/// taps, 3 % slower in `blocked`.
///
/// # Safety
/// OUTPUTS = PACKS · LANES. `samples` is the pack of the first outputs' samples for tap 0, in
/// shared memory, with PACKS − 1 more above it and as many below it as `taps` has: `count` taps
/// rounded up to packs. Unused elements of a pack may have any value.
#[inline(always)]
pub(super) unsafe fn add_taps<
    T: Real,
    const LANES: usize,
    const PACKS: usize,
    const OUTPUTS: usize,
    const LAST_TWICE: bool,
>(
    sums: &mut [T; OUTPUTS],
    mut samples: *const Pack<T, LANES>,
    mut taps: *const Pack<T, LANES>,
    count: u32,
) {
    let step = OUTPUTS as u32;
    let mut low = [T::ZERO; OUTPUTS];
    let mut left = count;
    // SAFETY: the caller's promise: each step moves as many packs down in the samples as up in the
    // taps.
    unsafe {
        let mut high = load::<T, LANES, PACKS, OUTPUTS>(samples);
        while left >= 2 * step {
            samples = samples.sub(PACKS);
            add_step::<T, LANES, PACKS, OUTPUTS, false>(sums, &high, &mut low, samples, taps, step);
            samples = samples.sub(PACKS);
            let next = taps.add(PACKS);
            add_step::<T, LANES, PACKS, OUTPUTS, false>(sums, &low, &mut high, samples, next, step);
            taps = taps.add(2 * PACKS);
            left -= 2 * step;
        }
        if left >= step {
            samples = samples.sub(PACKS);
            add_step::<T, LANES, PACKS, OUTPUTS, false>(sums, &high, &mut low, samples, taps, step);
            taps = taps.add(PACKS);
            left -= step;
            if LAST_TWICE {
                if left > 0 {
                    samples = samples.sub(PACKS);
                    add_step::<T, LANES, PACKS, OUTPUTS, true>(
                        sums, &low, &mut high, samples, taps, left,
                    );
                }
                return;
            }
            high = low;
        }
        if left > 0 {
            samples = samples.sub(PACKS);
            add_step::<T, LANES, PACKS, OUTPUTS, true>(sums, &high, &mut low, samples, taps, left);
        }
    }
}

/// Adds only the taps of one pack that are in `lanes` to the sums.
///
/// # Safety
/// As for [`add_taps`]; one pack of samples below the first is read.
#[inline(always)]
pub(super) unsafe fn add_pack<
    T: Real,
    const LANES: usize,
    const PACKS: usize,
    const OUTPUTS: usize,
>(
    sums: &mut [T; OUTPUTS],
    samples: *const Pack<T, LANES>,
    taps: *const Pack<T, LANES>,
    lanes: Range<u32>,
) {
    // SAFETY: the caller's promise.
    let (high, low, taps) = unsafe {
        let high = load::<T, LANES, PACKS, OUTPUTS>(samples);
        (high, samples.sub(1).read().0, taps.read().0)
    };
    unrolled::<LANES>(|k| {
        if lanes.contains(&(k as u32)) {
            unrolled::<OUTPUTS>(|r| {
                let sample = if r >= k {
                    high[r - k]
                } else {
                    low[LANES + r - k]
                };
                sums[r] = taps[k].mul_add(sample, sums[r]);
            });
        }
    });
}

/// Loads the samples of PACKS packs.
///
/// # Safety
/// They exist.
#[inline(always)]
unsafe fn load<T: Real, const LANES: usize, const PACKS: usize, const OUTPUTS: usize>(
    samples: *const Pack<T, LANES>,
) -> [T; OUTPUTS] {
    let mut loaded = [T::ZERO; OUTPUTS];
    unrolled::<PACKS>(|pack| {
        // SAFETY: the caller's promise.
        let samples = unsafe { samples.add(pack).read().0 };
        unrolled::<LANES>(|lane| loaded[pack * LANES + lane] = samples[lane]);
    });
    loaded
}

/// Adds a step's taps; if GUARDED, only the first `left`.
///
/// # Safety
/// As for [`add_taps`]; `samples` is the lowest of `low`'s packs.
#[inline(always)]
unsafe fn add_step<
    T: Real,
    const LANES: usize,
    const PACKS: usize,
    const OUTPUTS: usize,
    const GUARDED: bool,
>(
    sums: &mut [T; OUTPUTS],
    high: &[T; OUTPUTS],
    low: &mut [T; OUTPUTS],
    samples: *const Pack<T, LANES>,
    taps: *const Pack<T, LANES>,
    left: u32,
) {
    unrolled::<PACKS>(|pack| {
        if !GUARDED || ((pack * LANES) as u32) < left {
            // Downwards: these taps need no sample below this pack.
            let place = PACKS - 1 - pack;
            // SAFETY: the caller's promise.
            let (samples, taps) = unsafe { (samples.add(place).read().0, taps.add(pack).read().0) };
            unrolled::<LANES>(|lane| low[place * LANES + lane] = samples[lane]);
            unrolled::<LANES>(|lane| {
                let k = pack * LANES + lane;
                if !GUARDED || lane == 0 || (k as u32) < left {
                    unrolled::<OUTPUTS>(|r| {
                        let sample = if r >= k {
                            high[r - k]
                        } else {
                            low[OUTPUTS + r - k]
                        };
                        sums[r] = taps[lane].mul_add(sample, sums[r]);
                    });
                }
            });
        }
    });
}
