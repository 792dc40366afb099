//! `shared::dynamic_shared_mem`: the launch says how much.

use cuda_std::prelude::*;

/// Rotates each block's part of `data` by `by` places; one `f32` of dynamic shared memory for each
/// thread.
#[kernel]
pub unsafe fn rotate_blocks(by: u32, data: *mut f32) {
    let line = shared::dynamic_shared_mem::<f32>();
    let (t, n) = (thread::thread_idx_x(), thread::block_dim_x());
    let i = thread::index_1d() as usize;
    *line.add(((t + by) % n) as usize) = *data.add(i);
    thread::sync_threads();
    *data.add(i) = *line.add(t as usize);
}
