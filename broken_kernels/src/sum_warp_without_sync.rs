//! Mistake: a warp reduces in shared memory without `sync_warp`, because "a warp runs in lockstep".
//!
//! That was true until 2017. Since Volta each lane has its own program counter, and PTX orders
//! nothing between them.
//!
//! - On a GPU: usually correct, but the compiler and the scheduler may break it.
//! - On the emulator: races within the warp, as warnings, each with both lines.
//!
//! A sound kernel has `warp::sync_warp` between the rounds, or uses shuffles, as the `sum_shuffle`
//! kernels do.

use cuda_std::prelude::*;

/// partials\[block\] = the sum of 32 elements; blocks of 32 threads.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn sum_warp_without_sync(input: &[f32], partials: *mut f32) {
    let slots = shared_array![f32; 32];
    let lane = thread::thread_idx_x() as usize;
    // SAFETY: one slot and one element per lane; nothing orders the reads of other lanes' slots.
    unsafe {
        let own = slots.add(lane);
        own.write_volatile(*input.get_unchecked(thread::index_1d() as usize));
        let mut half = 16;
        while half > 0 {
            // The mistake: no `sync_warp` here and below.
            if lane < half {
                own.write_volatile(own.read_volatile() + own.add(half).read_volatile());
            }
            half /= 2;
        }
        if lane == 0 {
            partials
                .add(thread::block_idx_x() as usize)
                .write(own.read_volatile());
        }
    }
}
