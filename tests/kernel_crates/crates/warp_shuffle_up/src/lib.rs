//! `warp_shuffle_up`: a running sum inside a warp.

use cuda_std::prelude::*;

/// `out[i]` is the sum of `values` from the warp's first lane up to `i`.
#[kernel]
pub unsafe fn warp_running_sums(values: &[u64], out: *mut u64) {
    let i = thread::index_1d() as usize;
    let mut sum = values[i];
    let mut distance = 1;
    while distance < 32 {
        let (below, there) = warp::warp_shuffle_up(u32::MAX, sum, distance, 32);
        if there {
            sum += below;
        }
        distance *= 2;
    }
    *out.add(i) = sum;
}
