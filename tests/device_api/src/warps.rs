//! Shuffles, votes, matches and reductions of a warp.

use cuda_std::prelude::*;
use cuda_std::warp::WarpReductionOp;

use crate::put;

/// The whole warp takes part.
const ALL: u32 = u32::MAX;

macro_rules! shuffles {
    ($name:ident, $t:ty) => {
        /// One warp; 4 columns in each output: shuffles down, up, idx, xor by `b` in segments of
        /// `width`. `out` gets the values, `in_range` whether each source lane was in range.
        #[kernel]
        pub unsafe fn $name(values: &[$t], b: u32, width: u32, out: *mut $t, in_range: *mut u32) {
            let lane = thread::thread_idx_x();
            let value = values[lane as usize];
            // SAFETY: all 32 lanes are here; sizes and shape are the crate's safety section.
            unsafe {
                let results = [
                    warp::warp_shuffle_down(ALL, value, b, width),
                    warp::warp_shuffle_up(ALL, value, b, width),
                    warp::warp_shuffle_idx(ALL, value, b, width),
                    warp::warp_shuffle_xor(ALL, value, b, width),
                ];
                for (column, (value, flag)) in (0..).zip(results) {
                    put(out, lane, 4, column, value);
                    put(in_range, lane, 4, column, flag as u32);
                }
            }
        }
    };
}
shuffles!(shuffles_u32, u32);
shuffles!(shuffles_f32, f32);
shuffles!(shuffles_i64, i64);
shuffles!(shuffles_f64, f64);

/// One warp; 5 columns of `values[lane]`: all non-zero, any non-zero, ballot of non-zero, lanes
/// with the same value, and that mask again if all are the same (else 0). Lanes outside `mask` stay
/// out and write nothing.
#[kernel]
pub unsafe fn warp_votes(values: &[u32], mask: u32, out: *mut u32) {
    let lane = thread::thread_idx_x();
    if mask >> lane & 1 == 0 {
        return;
    }
    let value = values[lane as usize];
    // SAFETY: exactly the lanes of `mask` are here.
    unsafe {
        let columns = [
            warp::warp_vote_all(mask, value != 0) as u32,
            warp::warp_vote_any(mask, value != 0) as u32,
            warp::warp_vote_ballot(mask, value != 0),
            warp::warp_match_any(mask, value),
            warp::warp_match_all(mask, value).unwrap_or(0),
        ];
        for (column, result) in (0..).zip(columns) {
            put(out, lane, 5, column, result);
        }
    }
}

/// One warp; 3 columns: lanes whose `values` are the same 64 bits, the active mask, and all lanes if
/// their values are the same as `f64` by its bits (else 0).
#[kernel]
pub unsafe fn match_u64(values: &[u64], out: *mut u32) {
    let lane = thread::thread_idx_x();
    // SAFETY: all 32 lanes are here.
    unsafe {
        put(
            out,
            lane,
            3,
            0,
            warp::warp_match_any(ALL, values[lane as usize]),
        );
        put(out, lane, 3, 1, warp::activemask());
        let float = f64::from_bits(values[lane as usize]);
        put(
            out,
            lane,
            3,
            2,
            warp::warp_match_all(ALL, float).unwrap_or(0),
        );
    }
}

/// One warp; 9 columns: sum, min, max, and, or, xor of `values` as `u32`, then sum, min, max as
/// `i32` (its bits).
#[kernel]
pub unsafe fn warp_reductions(values: &[u32], out: *mut u32) {
    use WarpReductionOp::{Add, And, Max, Min, Or, Xor};
    let lane = thread::thread_idx_x();
    let value = values[lane as usize];
    // SAFETY: all 32 lanes are here.
    unsafe {
        for (column, op) in (0..).zip([Add, Min, Max, And, Or, Xor]) {
            put(out, lane, 9, column, warp::warp_reduce(ALL, value, op));
        }
        for (column, op) in (6..).zip([Add, Min, Max]) {
            put(
                out,
                lane,
                9,
                column,
                warp::warp_reduce(ALL, value as i32, op) as u32,
            );
        }
    }
}

/// One warp: each lane gets its right neighbour's value through shared memory, ordered by
/// [`warp::sync_warp`] alone.
#[kernel]
pub unsafe fn neighbour_by_sync_warp(values: &[u32], out: *mut u32) {
    let line = shared_array![u32; 32];
    let lane = thread::thread_idx_x();
    // SAFETY: all 32 lanes are here, each writes its own slot.
    unsafe {
        line.add(lane as usize).write(values[lane as usize]);
        // Orders every lane's write of its slot before its neighbour's read of it.
        warp::sync_warp(ALL);
        put(out, lane, 1, 0, line.add((lane as usize + 1) % 32).read());
    }
}
