//! Exercise 16: a copy that runs beside the threads, and the wait for it.

use cuda_std::async_copy::{cp_async_ca, cp_async_wait_all};
use cuda_std::prelude::*;

/// Threads of a block, and elements of a tile.
pub const THREADS: usize = 128;

/// Reverses each block's elements.
///
/// # Safety
/// No other code writes `y` during the launch.
#[kernel(require(
    x.len() == y.len(),
    block.x as usize == THREADS,
    grid.x as usize * THREADS == x.len(),
    [grid.y, grid.z, block.y, block.z] == [1; 4]
))]
pub unsafe fn reverse_copied(x: &[u32], y: *mut u32) {
    let tile = shared_array![u32; THREADS];
    let thread = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * THREADS;
    // SAFETY: a slot, an element and an output for each thread. The copies end in the kernel.
    unsafe {
        cp_async_ca(tile.add(thread), x.as_ptr().add(first + thread));
        // TODO: a barrier does not wait for a copy: the thread that started it does. And other
        // threads know only after the barrier that it has waited.
        thread::sync_threads();
        y.add(first + thread)
            .write(tile.add(THREADS - 1 - thread).read());
        cp_async_wait_all();
    }
}
