//! Exercise 8: a tree that folds a block's values into one.

use cuda_std::prelude::*;

/// Threads of a block, and elements that it folds.
pub const THREADS: usize = 256;

/// largest\[block\] = the largest of the block's elements.
///
/// # Safety
/// No other code writes `largest` during the launch.
#[kernel(require(
    x.len() == grid.x as usize * THREADS,
    largest.len() == grid.x as usize,
    [block.x as usize, block.y as usize, block.z as usize] == [THREADS, 1, 1],
    [grid.y, grid.z] == [1; 2]
))]
pub unsafe fn largest_of_blocks(x: &[u32], largest: *mut u32) {
    let slots = shared_array![u32; THREADS];
    let thread = thread::thread_idx_x() as usize;
    // SAFETY: a slot for each thread.
    unsafe { slots.add(thread).write(x[thread::index_1d() as usize]) };
    let mut half = THREADS / 2;
    while half > 0 {
        // Orders the previous round's writes before this round's reads.
        thread::sync_threads();
        if thread < half {
            // SAFETY: both slots exist; no thread writes the upper half in this round.
            unsafe {
                let own = slots.add(thread);
                own.write(own.read().max(slots.add(thread + half).read()));
            }
        }
        half /= 2;
    }
    if thread == 0 {
        // SAFETY: an element for each block; thread 0 wrote slot 0 itself.
        unsafe {
            largest
                .add(thread::block_idx_x() as usize)
                .write(slots.read())
        };
    }
}
