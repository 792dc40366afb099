//! Convolution without shared memory: the version to compare with.
//!
//! One thread computes one output and reads all it needs from global memory. Neighbouring threads read neighbouring samples
//! (coalesced), but each sample is read by m threads: 2·m reads per output, m of them of the same tap by all lanes. What saves
//! it is the L1 cache; what the shared-memory versions do is to make that reuse explicit.
//!
//! | 2²⁶ samples, H200, µs | 5 taps | 10 | 31 | 32 | 63 |
//! | --- | --- | --- | --- | --- | --- |
//! | tap by tap | 342 | 388 | 630 | 675 | 1147 |
//! | **in groups of 16** | 299 | 317 | 586 | 595 | 1123 |
//! | the same in CUDA C++ | 348 | 404 | 595 | 609 | 1115 |

use cuda_std::prelude::*;

use super::taps_inside;
use crate::number::Real;
use crate::unroll::in_groups;

/// Taps that a thread loads together, and their samples.
const GROUP: usize = 16;

/// y\[i\] = Σₖ taps\[k\] · signal\[i + offset − k\] for every i of `output`, summed in the order of the taps.
///
/// # Parameters
/// - `signal`: n samples. `taps`: m taps.
/// - `offset`: see [the module](super).
///
/// # Launch
/// One-dimensional, any block; no shared memory. The grid strides over the outputs.
///
/// # Safety
/// The crate's rules; `offset` plus the output's length does not overflow.
#[kernel(
    instances(f32, f64),
    require(
        offset.checked_add(output.len()).is_some(),
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub unsafe fn conv1d_direct<T: Real>(signal: &[T], taps: &[T], output: *mut [T], offset: usize) {
    let threads = thread::block_dim_x() as usize;
    let stride = thread::grid_dim_x() as usize * threads;
    let mut i = thread::block_idx_x() as usize * threads + thread::thread_idx_x() as usize;
    while i < output.len() {
        // SAFETY: i is below the output's length, and no other thread has this i.
        unsafe {
            let to = output.cast::<T>().add(i);
            to.write(convolve_one(signal, taps, i + offset));
        }
        i += stride;
    }
}

/// The full convolution's output of index `centre`.
#[inline(always)]
pub(super) fn convolve_one<T: Real>(signal: &[T], taps: &[T], centre: usize) -> T {
    let mut sum = T::ZERO;
    in_groups::<GROUP>(taps_inside(centre, signal.len(), taps.len()), |k| {
        // SAFETY: k is a tap, and centre - k a sample.
        let (tap, sample) = unsafe { (*taps.get_unchecked(k), *signal.get_unchecked(centre - k)) };
        sum = tap.mul_add(sample, sum);
    });
    sum
}
