//! A running sum over a block (Hillis and Steele).

use cuda_std::prelude::*;

const THREADS: usize = 256;

/// `out[i]` is the sum of the block's values up to `i`; wrapping. Blocks of 256.
#[kernel]
pub unsafe fn block_running_sums(values: &[i32], out: *mut i32) {
    let line = shared_array![i32; THREADS];
    let t = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    let mut sum = values.get(i).copied().unwrap_or(0);
    let mut distance = 1;
    while distance < THREADS {
        *line.add(t) = sum;
        thread::sync_threads(); // sums before they are read
        if t >= distance {
            sum = sum.wrapping_add(*line.add(t - distance));
        }
        thread::sync_threads(); // read before the next round's sums
        distance *= 2;
    }
    if i < values.len() {
        *out.add(i) = sum;
    }
}
