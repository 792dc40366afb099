//! Convolution without shared memory: the baseline.
//!
//! One thread computes one output and reads everything from global memory. Adjacent threads read
//! adjacent samples (coalesced), but each sample is read by m threads: 2·m reads per output, m of
//! them of the same tap in all lanes. The L1 cache absorbs most of them; the shared-memory versions
//! make that reuse explicit.
//!
//! | 2²⁶ samples, H200, µs | 5 taps | 10 | 31 | 32 | 63 |
//! | --- | --- | --- | --- | --- | --- |
//! | tap by tap | 342 | 388 | 630 | 675 | 1147 |
//! | **in groups of 16** | 299 | 317 | 586 | 595 | 1123 |
//! | the same in CUDA C++ | 348 | 404 | 595 | 609 | 1115 |

#![forbid(unsafe_code)]

use cuda_std::prelude::*;
use cuda_std::unroll::fold_groups;

use crate::number::Real;

/// Taps and samples that a thread loads together.
const GROUP: usize = 16;

/// y\[i\] = Σₖ taps\[k\] · signal\[i + offset − k\] for every i of `output`, summed in tap order.
///
/// # Parameters
/// - `signal`: n samples. `taps`: m taps.
/// - `offset`: see [the module](super).
///
/// # Launch
/// One-dimensional blocks of any size. The grid strides over the outputs.
// ANCHOR: kernel
#[kernel(
    instances(f32, f64),
    require(offset.checked_add(output.len()).is_some())
)]
pub fn conv1d_direct<T: Real>(
    block: &mut Block,
    signal: &[T],
    taps: &[T],
    mut output: Out<T>,
    offset: usize,
) {
    for place in block.tiles(output.len()) {
        output.store(block, place, |i| convolve_one(signal, taps, i + offset));
    }
}
// ANCHOR_END: kernel

/// Output `centre` of the full convolution.
#[inline(always)]
pub fn convolve_one<T: Real>(signal: &[T], taps: &[T], centre: usize) -> T {
    let end = centre + 1;
    // All taps have samples, except for a few outputs at both ends.
    if let Some(window) = signal.get(end.wrapping_sub(taps.len())..end) {
        return dot::<T, GROUP>(taps, window);
    }
    convolve_near_end(signal, taps, centre)
}

/// [`convolve_one`] in less code and more time, with the same bits.
#[inline(always)]
pub(super) fn convolve_near_end<T: Real>(signal: &[T], taps: &[T], centre: usize) -> T {
    let end = centre + 1;
    // Past the signal's end the first taps have no samples.
    let samples = signal.get(..end).unwrap_or(signal);
    let taps = taps.get(end - samples.len()..).unwrap_or_default();
    dot::<T, 4>(taps, samples)
}

/// Σₖ taps\[k\] · samples\[last − k\].
#[inline(always)]
fn dot<T: Real, const GROUP: usize>(taps: &[T], samples: &[T]) -> T {
    let products = (taps, Reversed(samples));
    fold_groups::<GROUP, _, _>(products, .., T::ZERO, |sum, (tap, sample)| {
        tap.mul_add(sample, sum)
    })
}
