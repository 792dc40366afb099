//! Exercise 3: a barrier between writing shared memory and reading it.

use cuda_std::prelude::*;

/// Threads of a block, and elements that it rotates.
pub const THREADS: usize = 128;

/// Rotates each block's elements by one: y\[t\] = x\[t + 1\], and the last is the first.
///
/// # Safety
/// No other code writes `y` during the launch.
#[kernel(require(
    x.len() == y.len(),
    block.x as usize == THREADS,
    grid.x as usize * THREADS == x.len(),
    [grid.y, grid.z, block.y, block.z] == [1; 4]
))]
pub unsafe fn rotate(x: &[u32], y: *mut u32) {
    let tile = shared_array![u32; THREADS];
    let thread = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * THREADS;
    // SAFETY: a slot for each thread.
    unsafe { tile.add(thread).write(x[first + thread]) };
    // Every thread's write comes before any thread's read of that slot.
    thread::sync_threads();
    // SAFETY: each thread has one element; the slot was written before the barrier.
    unsafe {
        y.add(first + thread)
            .write(tile.add((thread + 1) % THREADS).read())
    };
}
