//! Exercise 13: every thread of the block arrives at the barrier.

use cuda_std::prelude::*;

/// Threads of a block.
pub const THREADS: usize = 128;

/// y\[i\] = x\[i\] − the first element of i's block. The grid covers `x`.
///
/// # Safety
/// No other code writes `y` during the launch.
#[kernel(require(
    x.len() == y.len(),
    block.x as usize == THREADS,
    grid.x as usize * THREADS >= x.len(),
    [grid.y, grid.z, block.y, block.z] == [1; 4]
))]
pub unsafe fn from_the_first(x: &[i32], y: *mut i32) {
    let first = shared_array![i32; 1];
    let i = thread::index_1d() as usize;
    if thread::thread_idx_x() == 0 && i < x.len() {
        // SAFETY: one thread writes the one slot.
        unsafe { first.write(x[i]) };
    }
    // The write comes before every thread's read.
    thread::sync_threads();
    if i < x.len() {
        // SAFETY: the slot was written before the barrier; no other thread has this i.
        unsafe { y.add(i).write(x[i] - first.read()) };
    }
}
