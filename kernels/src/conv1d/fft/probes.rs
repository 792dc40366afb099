//! Where the columns of a long transform look for quiet passages (`quiet.rs`). A transform in shared
//! memory has the samples of a window in the registers of its warps; the columns of a warp are few
//! of a window's samples, so some warps load others.

use core::ops::Range;

use cuda_std::uniform::assume_warp_uniform;
use cuda_std::unroll::unrolled;

use super::complex::Transformed;
use super::quiet::{MARKED_FROM, inside, most};

/// The warps that probe a pair of windows.
pub(super) const WARPS: usize = 16;

/// Probes of a warp.
const EACH: usize = 8;

/// The fewest probes of a window: all its warps have some.
const FEWEST: u32 = (EACH * WARPS / 2) as u32;

/// No more taps are counted, so that nothing overflows.
const MOST_TAPS: usize = 1 << 24;

/// Adjacent samples of a probe: a sector.
const ADJACENT: u32 = 8;

/// How a window's part inside the signal is probed. A probe is 32 samples: four sectors, as far
/// apart as the filter allows, so that a zero crossing does not divide a block. Every output has a
/// whole probe nearby.
#[derive(Clone, Copy)]
struct Probes {
    /// Their number is 2 to this power: a division could be by zero for LLVM.
    log: u32,
    /// The samples from a probe's first to its last.
    span: u32,
}

impl Probes {
    /// For `len` samples, all or those of a window that is not whole.
    #[inline(always)]
    fn new(len: u32, taps: u32, is_whole: bool) -> Self {
        // Samples near an output, and near one at an end of the window. Where the signal begins or
        // ends in it, there are at least as many as taps, or all.
        let [near, near_at_ends] = match is_whole {
            true => [3 * taps - 2, 2 * taps - 1],
            false => [taps; 2],
        };
        let mut log = FEWEST.ilog2();
        loop {
            // Places are rounded.
            let within = near.saturating_sub((len >> log) + 2);
            let at_ends = near_at_ends.saturating_sub((len >> (log + 1)) + 2);
            let span = within.min(at_ends).min(len);
            if span >= len.min(32) {
                return Self { log, span };
            }
            log += 1;
        }
    }

    /// The place of a lane's sample.
    #[inline(always)]
    fn place(self, len: u32, probe: u32, lane: u32) -> u32 {
        let apart = self.span.saturating_sub(ADJACENT) / (32 / ADJACENT - 1);
        let of_lane = lane / ADJACENT * apart + lane % ADJACENT;
        // More than 32 bits where many probes have much to cover.
        let of_probe = u64::from(2 * probe + 1) * u64::from(len - self.span);
        (of_probe >> (self.log + 1)) as u32 + of_lane.min(self.span - 1)
    }
}

/// The loudness of the quietest probe of a warp, of windows of `points` samples that may begin
/// before the signal or end after it. With less than [`MARKED_FROM`] taps it is 0.
///
/// # Safety
/// All lanes of the warp call it; `warp` is below [`WARPS`].
#[inline(always)]
pub(super) unsafe fn quietest<T: Transformed>(
    signal: &[T],
    taps: usize,
    points: usize,
    starts: [usize; 2],
    [warp, lane]: [u32; 2],
) -> u32 {
    if taps < MARKED_FROM {
        return 0;
    }
    let half = WARPS as u32 / 2;
    // SAFETY: a warp has one number.
    let [window, warp] = unsafe { [warp / half, warp % half].map(|of| assume_warp_uniform(of)) };
    let start = if window == 0 { starts[0] } else { starts[1] };
    let Range { start: from, end } = inside(points, start, signal.len());
    if from >= end {
        return u32::MAX;
    }
    let len = end - from;
    let probes = Probes::new(
        len,
        taps.min(points).min(MOST_TAPS) as u32,
        len == points as u32,
    );
    let mut quietest = u32::MAX;
    let mut probe = warp * EACH as u32;
    while probe < 1 << probes.log {
        let mut loudness = [0; EACH];
        unrolled::<EACH>(|i| {
            let place = from + probes.place(len, probe + i as u32, lane);
            let at = start.wrapping_add(place as usize);
            // SAFETY: the place is below `end`, and so inside the signal.
            loudness[i] = unsafe { *signal.as_ptr().wrapping_add(at) }.louder(0);
        });
        unrolled::<EACH>(|i| {
            // SAFETY: the caller's promise; the loop is uniform in a warp.
            quietest = unsafe { most(loudness[i]) }.min(quietest);
        });
        probe += FEWEST;
    }
    quietest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the first sample to the last, in the order of their numbers, whatever the window.
    #[test]
    fn probes_cover_a_window() {
        for len in [32, 100, 65_535, 262_143, 524_287, 524_288] {
            for taps in [MARKED_FROM as u32, 100, 160, 5000, 300_000] {
                let probes = Probes::new(len, taps, false);
                let places = (0..1 << probes.log).map(|probe| probes.place(len, probe, 0));
                let places: Vec<_> = places.collect();
                assert!(places.is_sorted(), "{len} samples, {taps} taps");
                let apart = (len - probes.span) / (1 << probes.log) + 1;
                let (first, last) = (places[0], places[places.len() - 1]);
                let end = last + probes.span;
                assert!(
                    first <= apart && end <= len && end + apart >= len,
                    "{len}, {taps}"
                );
            }
        }
    }
}
