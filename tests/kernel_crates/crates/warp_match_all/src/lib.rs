//! `warp_match_all`: does everybody hold the same.

use cuda_std::prelude::*;

/// Each warp's first lane: 1 if all keys are equal (floats by their bits), else 0; for the even
/// lanes alone likewise.
#[kernel]
pub unsafe fn all_same(keys: &[f64], out: *mut u32) {
    const EVEN: u32 = 0x5555_5555;
    let i = thread::index_1d() as usize;
    let all = warp::warp_match_all(u32::MAX, keys[i]);
    if warp::lane_id() % 2 == 0 {
        let even = warp::warp_match_all(EVEN, keys[i]);
        if warp::lane_id() == 0 {
            *out.add(i / 16) = u32::from(all == Some(u32::MAX));
            *out.add(i / 16 + 1) = u32::from(even == Some(EVEN));
        }
    }
}
