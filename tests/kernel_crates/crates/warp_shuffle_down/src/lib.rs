//! `warp_shuffle_down`: each warp's sum in its first lane.

use cuda_std::prelude::*;

/// The sum of every 32 values; the rest after the last are zeros.
#[kernel]
pub unsafe fn warp_sums(values: &[f64], out: *mut f64) {
    let i = thread::index_1d() as usize;
    let mut sum = values.get(i).copied().unwrap_or(0.0);
    for distance in [16, 8, 4, 2, 1] {
        sum += warp::warp_shuffle_down(u32::MAX, sum, distance, 32).0;
    }
    if warp::lane_id() == 0 {
        *out.add(i / 32) = sum;
    }
}
