//! Mistake: half a warp shuffles with a mask that names the whole warp.
//!
//! The mask says which lanes to wait for. Those that are named and do not come are waited for, or the result is undefined.
//!
//! - On a GPU: it seems to work where the other lanes have exited.
//! - On the emulator: an invalid member mask, with the line and the lanes.
//!
//! The sound twins are the `sum_shuffle` kernels: all lanes take part in every round.

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
        // SAFETY: 16 elements for each block, and one partial result; the mask is what goes wrong.
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
