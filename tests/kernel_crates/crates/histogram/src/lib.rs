//! A histogram: counted in shared memory first, then once for each block in global memory.

use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;

const BINS: usize = 256;

/// `bins[v] += 1` for every byte `v`; blocks of 256, any grid.
#[kernel]
pub unsafe fn byte_histogram(bytes: &[u8], bins: *mut u32) {
    let counts = shared_array![u32; BINS];
    let t = thread::thread_idx_x() as usize;
    *counts.add(t) = 0;
    thread::sync_threads(); // zeros before counts
    let stride = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    for i in (thread::index_1d() as usize..bytes.len()).step_by(stride) {
        AtomicU32::from_ptr(counts.add(bytes[i] as usize)).fetch_add(1, Ordering::Relaxed);
    }
    thread::sync_threads(); // all counts before the sum
    AtomicU32::from_ptr(bins.add(t)).fetch_add(*counts.add(t), Ordering::Relaxed);
}
