//! One-dimensional convolution, y\[i\] = Σₖ taps\[k\] · signal\[i + offset − k\], with zeros outside the signal.
//!
//! The offset chooses the mode, as `numpy.convolve` names them, for a signal of n samples and m ≤ n taps:
//!
//! | mode | outputs | offset |
//! | --- | --- | --- |
//! | full | n + m − 1 | 0 |
//! | same | n | ⌊(m − 1) / 2⌋ |
//! | valid | n − m + 1 | m − 1 |
//!
//! Convolution commutes: when there are more taps than samples, the host swaps the two.

pub mod block_per_output;
pub mod direct;
pub mod tiled;

use crate::number::Real;

/// Threads of a block, and outputs of a tile, in [`tiled`] and [`direct`].
pub const THREADS: u32 = 256;

/// `signal[at]`, or zero outside the signal. `at` has wrapped below zero to a huge number, which is outside too.
#[inline(always)]
fn sample_or_zero<T: Real>(signal: &[T], at: usize) -> T {
    if at < signal.len() {
        // SAFETY: just compared with the length.
        unsafe { *signal.get_unchecked(at) }
    } else {
        T::ZERO
    }
}
