//! `warp_vote_all`, `_any` and `_ballot` over the whole warp.

use cuda_std::prelude::*;

/// For each warp: all odd, any odd, which are odd.
#[kernel]
pub unsafe fn odd_votes(values: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    let odd = values[i] % 2 == 1;
    let all = warp::warp_vote_all(u32::MAX, odd);
    let any = warp::warp_vote_any(u32::MAX, odd);
    let which = warp::warp_vote_ballot(u32::MAX, odd);
    if warp::lane_id() == 0 {
        let row = out.add(i / 32 * 3);
        *row = u32::from(all);
        *row.add(1) = u32::from(any);
        *row.add(2) = which;
    }
}
