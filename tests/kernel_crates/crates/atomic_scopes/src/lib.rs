//! Atomics of a block's and of the system's scope.

use cuda_std::atomic::{BlockAtomicF32, Ordering, SystemAtomicF64};
use cuda_std::prelude::*;

/// Each block's sum in shared memory, then all blocks' in global memory.
#[kernel]
pub unsafe fn sums_by_scope(values: &[f32], of_block: *mut f32, total: *mut f64) {
    let sum = shared_array![f32; 1];
    if thread::thread_idx_x() == 0 {
        *sum = 0.0;
    }
    thread::sync_threads();
    let value = values[thread::index_1d() as usize];
    BlockAtomicF32::from_ptr(sum).fetch_add(value, Ordering::Relaxed);
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        *of_block.add(thread::block_idx_x() as usize) = *sum;
        SystemAtomicF64::from_ptr(total).fetch_add(f64::from(*sum), Ordering::AcqRel);
    }
}
