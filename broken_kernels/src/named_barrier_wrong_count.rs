//! Mistake: the thread count of a named barrier is not a whole number of warps.
//!
//! PTX counts the threads at a barrier in warps and requires a multiple of 32.
//!
//! - On a GPU: an illegal instruction or a hang.
//! - On the emulator: an invalid operand, with the line and the count.

use cuda_std::prelude::*;

use crate::THREADS;

/// output\[i\] = the neighbour's element, through shared memory; one block of [`THREADS`].
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn named_barrier_wrong_count(input: &[u32], output: *mut u32) {
    let slots = shared_array![u32; THREADS as usize];
    let threads = THREADS as usize;
    let thread = thread::thread_idx_x() as usize;
    // The mistake: the last thread "has nothing to do" and is not counted.
    let waiting = thread::block_dim_x() - 1;
    // SAFETY: one slot, one element and one output per thread. The barrier's count is the mistake.
    unsafe {
        slots.add(thread).write(*input.get_unchecked(thread));
        named_barrier(waiting);
        output
            .add(thread)
            .write(slots.add((thread + 1) % threads).read());
    }
}

/// Waits at barrier 1 for `threads` threads.
///
/// # Safety
/// `threads` is a multiple of 32, and that many threads arrive.
#[inline(always)]
unsafe fn named_barrier(threads: u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise.
    unsafe {
        core::arch::asm!("barrier.sync 1, {threads};", threads = in(reg32) threads)
    };
    #[cfg(not(target_arch = "nvptx64"))]
    let _ = threads;
}
