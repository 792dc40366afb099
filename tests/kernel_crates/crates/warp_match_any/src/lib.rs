//! `warp_match_any`: who else holds this value.

use cuda_std::prelude::*;

/// For each lane the lanes of its warp with the same key, for keys of 32 and of 64 bits.
#[kernel]
pub unsafe fn same_keys(keys: &[u32], wide_keys: &[i64], out: *mut u32) {
    let i = thread::index_1d() as usize;
    *out.add(2 * i) = warp::warp_match_any(u32::MAX, keys[i]);
    *out.add(2 * i + 1) = warp::warp_match_any(u32::MAX, wide_keys[i]);
}
