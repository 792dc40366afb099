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
    // TODO: two mistakes. Nothing orders a round's reads after the writes of the round before. And
    // the slots that a warp touches lie 2 · distance apart: bank conflicts. Folding the upper half
    // of the values into the lower half has none.
    let mut distance = 1;
    while distance < THREADS {
        let slot = 2 * distance * thread;
        if slot + distance < THREADS {
            // SAFETY: both slots exist.
            unsafe {
                let other = slots.add(slot + distance).read();
                let own = slots.add(slot);
                own.write(own.read().max(other));
            }
        }
        distance *= 2;
    }
    if thread == 0 {
        // SAFETY: an element for each block.
        unsafe {
            largest
                .add(thread::block_idx_x() as usize)
                .write(slots.read())
        };
    }
}
