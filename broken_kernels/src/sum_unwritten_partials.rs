//! Mistake: a warp adds 32 partial results, but fewer were written.
//!
//! The buffer has room for a whole warp, so that every lane has something to load; the rest of it
//! was never written.
//!
//! - On a GPU: correct while new memory happens to be zero.
//! - On the emulator: a use of uninitialised global memory, with the line.
//!
//! The sound twins are the `sum_shuffle` kernels: lanes without a partial result use the identity.

use cuda_std::prelude::*;

/// partials\[0\] = Σ input\[i\], through `partials`, which has 32 elements; one block of 32
/// threads, at most 32 elements.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn sum_unwritten_partials(input: &[f32], partials: *mut f32) {
    let lane = thread::thread_idx_x() as usize;
    // SAFETY: the elements exist; that each was written is the mistake. All lanes participate in
    // the shuffles.
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
