//! Mistake: half a warp shuffles with a mask that names the whole warp.
//!
//! The mask names the lanes to wait for. If a named lane never arrives, the others wait forever or
//! the result is undefined.
//!
//! - On a GPU: it seems to work where the other lanes have exited.
//! - On the emulator: an invalid member mask, with the line and the lanes.
//!
//! The sound twins are the `sum_shuffle` kernels: all lanes participate in every round.

use cuda_std::prelude::*;

/// partials\[block\] = the sum of 16 elements; blocks of 32 threads.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn sum_shuffle_wrong_mask(input: &[f32], partials: *mut f32) {
    let lane = thread::thread_idx_x();
    let block = thread::block_idx_x();
    if lane < 16 {
        // SAFETY: 16 elements and one partial result per block; the mask is the mistake.
        unsafe {
            let mut sum = *input.get_unchecked((16 * block + lane) as usize);
            for delta in [8, 4, 2, 1] {
                // The mistake: 0xFFFF.
                sum += warp::warp_shuffle_down(u32::MAX, sum, delta, 32).0;
            }
            if lane == 0 {
                partials.add(block as usize).write(sum);
            }
        }
    }
}
