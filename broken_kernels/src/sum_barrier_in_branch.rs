//! Mistake: the barrier is inside the branch of the threads that add.
//!
//! The other threads continue with the next round, and wait at another round's barrier or at none.
//!
//! - On a GPU: undefined. It works by chance where the hardware counts threads that have exited,
//!   and hangs elsewhere.
//! - On the emulator: a divergent barrier, with the line of the barrier and where the other threads
//!   are.
//!
//! The sound twin is `sum_tree_f32`, whose barrier is at the start of the round.

use cuda_std::prelude::*;

use crate::THREADS;

/// partials\[block\] = the sum of the block's elements; blocks of [`THREADS`], as many elements as threads.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn sum_barrier_in_branch(input: &[f32], partials: *mut f32) {
    let slots = shared_array![f32; THREADS as usize];
    let thread = thread::thread_idx_x() as usize;
    // SAFETY: one slot and one element per thread, one partial result per block.
    unsafe {
        slots
            .add(thread)
            .write(*input.get_unchecked(thread::index_1d() as usize));
        thread::sync_threads();
        let mut half = THREADS as usize / 2;
        while half > 0 {
            if thread < half {
                let folded = slots.add(thread).read() + slots.add(thread + half).read();
                slots.add(thread).write(folded);
                // The mistake: inside the branch.
                thread::sync_threads();
            }
            half /= 2;
        }
        if thread == 0 {
            partials
                .add(thread::block_idx_x() as usize)
                .write(slots.read());
        }
    }
}
