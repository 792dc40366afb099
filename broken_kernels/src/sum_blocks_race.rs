//! Mistake: every block adds its share to the total with an ordinary read and write.
//!
//! Blocks run concurrently: two read the same total, and one addition is lost.
//!
//! - On a GPU: a total that is too small and varies from run to run. compute-sanitizer's racecheck
//!   covers shared memory only and reports nothing.
//! - On the emulator: a race on global memory between two blocks, with both lines.
//!
//! The sound twins write one partial result per block. An atomic addition to the total would do
//! too.

use cuda_std::prelude::*;

/// total += Σ input\[i\]; one-dimensional blocks, as many elements as threads.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn sum_blocks_race(input: &[f32], total: *mut f32) {
    let threads = thread::block_dim_x();
    if thread::thread_idx_x() == 0 {
        let first = (thread::block_idx_x() * threads) as usize;
        let mut sum = 0.0;
        for i in first..first + threads as usize {
            // SAFETY: below the length, which is a multiple of the block's.
            sum += unsafe { *input.get_unchecked(i) };
        }
        // The mistake. SAFETY: the total exists; other blocks change it at the same time.
        unsafe { total.write(total.read() + sum) };
    }
}
