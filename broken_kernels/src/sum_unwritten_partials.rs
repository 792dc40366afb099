//! Mistake: a warp adds 32 partial results, but there are fewer than that.
//!
//! The memory has room for a whole warp, so that every lane has something to load; the rest of it was never written.
//!
//! - On a GPU: right as long as the memory is new and zero.
//! - On the emulator: a use of global memory that nobody wrote, with the line.
//!
//! The sound twins are the `sum_shuffle` kernels: lanes without a partial result take the identity.

use cuda_std::prelude::*;

/// partials\[0\] = Σ input\[i\], by way of `partials`, which holds 32 elements; one block of 32 threads, at most 32 elements.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn sum_unwritten_partials(input: &[f32], partials: *mut f32) {
    let lane = thread::thread_idx_x() as usize;
    // SAFETY: the elements exist; that each was written is what goes wrong. All lanes take part in the shuffles.
    unsafe {
        if lane < input.len() {
            partials.add(lane).write(*input.get_unchecked(lane));
        }
        thread::sync_threads();
        // The mistake: lanes from the input's length on load too.
        let mut sum = partials.add(lane).read();
        for delta in [16, 8, 4, 2, 1] {
            sum += warp::warp_shuffle_down(u32::MAX, sum, delta, 32).0;
        }
        if lane == 0 {
            partials.write(sum);
        }
    }
}
