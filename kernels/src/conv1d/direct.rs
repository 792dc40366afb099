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

macro_rules! kernels {
    ($($name:ident: $t:ty;)*) => {$(
        /// y\[i\] = Σₖ taps\[k\] · signal\[i + offset − k\] for i in `0..output_len`, summed in the order of the taps.
        ///
        /// # Parameters
        /// - `signal`: n samples. `taps`: m taps. `output`: `output_len` elements.
        /// - `offset`: see [the module](super).
        ///
        /// # Launch
        /// One-dimensional, any block; no shared memory. The grid strides over the outputs.
        ///
        /// # Safety
        /// The crate's rules; `offset + output_len` does not overflow.
        #[kernel]
        pub unsafe fn $name(signal: &[$t], taps: &[$t], output: *mut $t, output_len: usize, offset: usize) {
            // SAFETY: passed on to the caller.
            unsafe { convolve(signal, taps, output, output_len, offset) }
        }
    )*};
}
kernels! {
    conv1d_direct_f32: f32;
    conv1d_direct_f64: f64;
}

#[inline(always)]
unsafe fn convolve<T: Real>(
    signal: &[T],
    taps: &[T],
    output: *mut T,
    output_len: usize,
    offset: usize,
) {
    let threads = thread::block_dim_x() as usize;
    let stride = thread::grid_dim_x() as usize * threads;
    let mut i = thread::block_idx_x() as usize * threads + thread::thread_idx_x() as usize;
    while i < output_len {
        // SAFETY: i is below the output's length, and no other thread has this i.
        unsafe { output.add(i).write(convolve_one(signal, taps, i + offset)) };
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
