//! Mistake: no barrier between writing the tile and reading it.
//!
//! Thread t reads the slot that thread 255 − t writes. In the first half of the block that thread
//! belongs to a later warp, which may not have run yet. "Using Shared Memory in CUDA C/C++"
//! introduces barriers with this race.
//!
//! - On a GPU: outputs with old contents of a slot, different ones in each run.
//! - On the emulator: the race, with the lines of the read and the write.
//!
//! The sound twin is `reverse_static_u32`.

use cuda_std::prelude::*;

use crate::THREADS;

/// output\[n − 1 − i\] = input\[i\], with races; blocks of [`THREADS`] that cover the n elements.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn reverse_missing_barrier(input: &[u32], output: *mut u32) {
    let tile = shared_array![u32; THREADS as usize];
    let threads = THREADS as usize;
    let thread = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * threads;
    let n = input.len();
    let count = if n - first < threads {
        n - first
    } else {
        threads
    };
    if thread < count {
        // SAFETY: below n, and each thread has a slot.
        unsafe { tile.add(thread).write(*input.get_unchecked(first + thread)) };
    }
    // The mistake: no barrier here.
    if thread < count {
        // SAFETY: the indices are in bounds; that the slot was written is the mistake.
        unsafe {
            output
                .add(n - first - count + thread)
                .write(tile.add(count - 1 - thread).read())
        };
    }
}
