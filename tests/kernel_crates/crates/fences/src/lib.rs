//! Fences: the last block to finish adds up what all blocks left.

use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;

/// `total` of all `values`; `partial` holds a number for each block, `finished` starts at 0. Blocks
/// of 64.
#[kernel]
pub unsafe fn last_block_sums(
    values: &[u32],
    partial: *mut u32,
    finished: *mut u32,
    total: *mut u32,
) {
    let sum = shared_array![u32; 1];
    let t = thread::thread_idx_x();
    if t == 0 {
        *sum = 0;
    }
    thread::sync_threads();
    let value = values
        .get(thread::index_1d() as usize)
        .copied()
        .unwrap_or(0);
    AtomicU32::from_ptr(sum).fetch_add(value, Ordering::Relaxed);
    thread::block_fence();
    thread::sync_threads();
    if t == 0 {
        partial
            .add(thread::block_idx_x() as usize)
            .write_volatile(*sum);
        thread::device_fence(); // the number before the count
        let before = AtomicU32::from_ptr(finished).fetch_add(1, Ordering::Relaxed);
        if before == thread::grid_dim_x() - 1 {
            thread::grid_fence(); // all counts before the numbers
            let all = 0..thread::grid_dim_x() as usize;
            *total = all.map(|block| partial.add(block).read_volatile()).sum();
            thread::system_fence();
        }
    }
}
