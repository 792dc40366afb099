//! `lane_id`, `activemask`, `sync_warp`.

use cuda_std::prelude::*;

/// Each thread its lane; and the threads of each warp that take the branch, as they see it there.
#[kernel]
pub unsafe fn lanes(out: *mut u32) {
    let i = thread::index_1d() as usize;
    let lane = warp::lane_id();
    *out.add(2 * i) = lane;
    warp::sync_warp(u32::MAX);
    // The set of active lanes may vary, but it contains this lane, and only lanes of this branch.
    let mut seen = 2;
    if lane % 3 == 1 {
        let active = warp::activemask();
        let branch = (0..32)
            .filter(|lane| lane % 3 == 1)
            .fold(0_u32, |all, lane| all | 1 << lane);
        seen = u32::from(active >> lane & 1 == 1 && active & !branch == 0);
    }
    *out.add(2 * i + 1) = seen;
}
