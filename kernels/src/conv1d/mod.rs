//! One-dimensional convolution, y\[i\] = Σₖ taps\[k\] · signal\[i + offset − k\], with zeros
//! outside the signal.
//!
//! The offset selects the mode, named as in `numpy.convolve`, for a signal of n samples and m ≤ n
//! taps:
//!
//! | mode | outputs | offset |
//! | --- | --- | --- |
//! | full | n + m − 1 | 0 |
//! | same | n | ⌊(m − 1) / 2⌋ |
//! | valid | n − m + 1 | m − 1 |
//!
//! Convolution commutes: if there are more taps than samples, the host swaps the two.
//!
//! [`rows`] and [`fft::each_row`] convolve each row of a matrix.

pub mod block_per_output;
pub mod blocked;
pub mod direct;
pub mod fft;
mod matrix;
pub mod policy;
pub mod rows;
mod span;
mod steps;
pub mod tiled;
pub mod window;

use core::ops::Range;

/// Threads per block, and outputs per tile, in [`tiled`] and [`direct`].
pub const THREADS: u32 = 256;

/// The taps that have a sample: those k below `taps` for which `centre - k` is in `0..samples`.
///
/// Sums run over these only, instead of multiplying by zeros outside the signal: zero times an
/// infinite tap is NaN.
#[inline(always)]
pub(crate) fn taps_inside(centre: usize, samples: usize, taps: usize) -> Range<usize> {
    let from = (centre + 1).saturating_sub(samples);
    let to = if taps < centre + 1 { taps } else { centre + 1 };
    from..to
}

#[cfg(test)]
mod tests {
    use super::taps_inside;

    #[test]
    fn every_tap_with_a_sample_and_no_other() {
        for (samples, taps) in [(0_usize, 3), (1, 1), (1, 4), (7, 3), (3, 7)] {
            for centre in 0..samples + taps + 2 {
                let meets = |k: &usize| centre.checked_sub(*k).is_some_and(|at| at < samples);
                let expected: Vec<_> = (0..taps).filter(meets).collect();
                let inside: Vec<_> = taps_inside(centre, samples, taps).collect();
                assert_eq!(inside, expected, "{centre} of {samples}, {taps} taps");
            }
        }
    }
}
