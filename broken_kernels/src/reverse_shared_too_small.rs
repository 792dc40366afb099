//! Mistake: the static array has fewer slots than the block has threads.
//!
//! The size of the array and the size of the block are defined in two places, and only one was
//! changed.
//!
//! - On a GPU: the upper threads write past the array. A following array is corrupted; without one,
//!   the kernel fails with an illegal address or seems to work, because shared memory is allocated
//!   in larger units.
//! - On the emulator: an out-of-bounds write to shared memory by the first thread without a slot,
//!   with its line.
//!
//! The sound twin is `reverse_static_u32`: one constant sizes both, and the host checks the block
//! against it.

use cuda_std::prelude::*;

/// Slots of the array: half of what blocks of [`THREADS`](crate::THREADS) threads need.
pub const SLOTS: u32 = 128;

/// output\[n − 1 − i\] = input\[i\], past the shared array; blocks of [`THREADS`](crate::THREADS) that cover the n elements.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn reverse_shared_too_small(input: &[u32], output: *mut u32) {
    // The mistake: a slot for each of `SLOTS` threads, not for each thread of the block.
    let tile = shared_array![u32; SLOTS as usize];
    let threads = thread::block_dim_x() as usize;
    let thread = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * threads;
    let n = input.len();
    let count = if n - first < threads {
        n - first
    } else {
        threads
    };
    if thread < count {
        // SAFETY: below n; the slot does not always exist, which is the mistake.
        unsafe {
            tile.wrapping_add(thread)
                .write(*input.get_unchecked(first + thread))
        };
    }
    thread::sync_threads();
    if thread < count {
        // SAFETY: as above.
        unsafe {
            output
                .add(n - first - count + thread)
                .write(tile.wrapping_add(count - 1 - thread).read())
        };
    }
}
