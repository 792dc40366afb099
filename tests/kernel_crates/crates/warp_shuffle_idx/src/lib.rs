//! `warp_shuffle_idx`: broadcast and gather.

use cuda_std::prelude::*;

/// Within each group of eight lanes: the group's leader's value, and the value of the lane that
/// `from` names.
#[kernel]
pub unsafe fn gather_in_eights(values: &[i32], from: &[u32], out: *mut i32) {
    let i = thread::index_1d() as usize;
    let (leader, _) = warp::warp_shuffle_idx(u32::MAX, values[i], 0, 8);
    let (named, _) = warp::warp_shuffle_idx(u32::MAX, values[i], from[i], 8);
    *out.add(2 * i) = leader;
    *out.add(2 * i + 1) = named;
}
