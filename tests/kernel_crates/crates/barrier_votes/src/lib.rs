//! Barriers that also count: `sync_threads_count`, `_and`, `_or`.

use cuda_std::prelude::*;

/// For each block: how many of its values are above `limit`, whether all are, whether any is. Any
/// thread may write: all know.
#[kernel]
pub unsafe fn block_votes_above(values: &[f32], limit: f32, out: *mut u32) {
    let i = thread::index_1d() as usize;
    let above = u32::from(i < values.len() && values[i] > limit);
    let count = thread::sync_threads_count(above);
    let all = thread::sync_threads_and(above);
    let any = thread::sync_threads_or(above);
    if thread::thread_idx_x() == thread::block_dim_x() - 1 {
        let row = out.add(3 * thread::block_idx_x() as usize);
        *row = count;
        *row.add(1) = all;
        *row.add(2) = any;
    }
}
