//! `warp_shuffle_xor`: a butterfly, after which every lane knows the result.

use cuda_std::prelude::*;

/// The greatest value of each 16 lanes, in all of them.
#[kernel]
pub unsafe fn greatest_of_sixteen(values: &[f32], out: *mut f32) {
    let i = thread::index_1d() as usize;
    let mut greatest = values[i];
    for lane_mask in [8, 4, 2, 1] {
        let (other, _) = warp::warp_shuffle_xor(u32::MAX, greatest, lane_mask, 16);
        greatest = greatest.max(other);
    }
    *out.add(i) = greatest;
}
