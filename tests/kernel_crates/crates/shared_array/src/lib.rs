//! `shared_array!`: two arrays of different types in one kernel do not overlap.

use cuda_std::prelude::*;

/// Blocks of 32: `out[i]` is the block's value `31 - t` times the weight of thread `t + 1`.
#[kernel]
pub unsafe fn two_shared_arrays(values: &[u64], weights: &[u32], out: *mut u64) {
    let wide = shared_array![u64; 32];
    let narrow = shared_array![u32; 33];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    *wide.add(t) = values[i];
    *narrow.add(t) = weights[i];
    if t == 0 {
        *narrow.add(32) = 7;
    }
    thread::sync_threads();
    *out.add(i) = *wide.add(31 - t) * u64::from(*narrow.add(t + 1));
}
