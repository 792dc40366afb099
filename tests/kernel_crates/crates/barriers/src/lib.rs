//! `thread::sync_threads`: everybody has written before anybody reads.

use cuda_std::prelude::*;

const THREADS: usize = 128;

/// Reverses each block's part of `data`; blocks of 128.
#[kernel]
pub unsafe fn reverse_blocks(data: *mut i32) {
    let line = shared_array![i32; THREADS];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    *line.add(t) = *data.add(i);
    thread::sync_threads();
    *data.add(i) = *line.add(THREADS - 1 - t);
}
