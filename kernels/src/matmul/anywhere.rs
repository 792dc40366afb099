//! Rows of B that begin anywhere, read in aligned packs.
//!
//! - Row k begins `skew` elements after the start of a pack, and is read from that start. A thread
//!   whose rows are a multiple of LANES apart has one skew, because LANES rows are whole packs. Its
//!   sums are then of columns `skew` to the left of those for aligned rows.
//! - After the last row, `turn` moves the sums to the lanes that would have them for aligned rows,
//!   by a shuffle. So the order of a sum does not depend on where B begins, and lanes with other
//!   rows of the same columns can be added.
//! - A group of packs computes one pack of columns less than it reads ([`columns`]): the next group
//!   reads its last columns again.
//! - B may begin or end within a pack: nothing outside B is read (`load_clipped`). Other packs
//!   across the end of a row contain elements of the next row, whose sums are never stored.

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::asm::load_if;
use crate::number::Scalar;
use crate::pack::lanes;

const WARP: u32 = 32;

/// Columns of C that a group computes if it reads `across` columns of B: one pack less, unless B is
/// aligned.
#[inline(always)]
pub const fn columns<T>(across: usize, is_aligned: bool) -> usize {
    across - if is_aligned { 0 } else { lanes::<T>() }
}

/// Moves sums `skew` places down across the threads of a warp. The last thread's last `skew` sums
/// are then meaningless.
///
/// # Safety
/// All threads of the warp call it.
#[inline(always)]
pub(super) unsafe fn turn<T: Scalar, const LANES: usize>(sums: &mut [T; LANES], skew: usize) {
    const { assert!(LANES == 2 || LANES == 4) };
    let mut window = [T::ZERO; 8];
    unrolled::<LANES>(|lane| {
        window[lane] = sums[lane];
        // SAFETY: the caller's promise.
        (window[LANES + lane], _) =
            unsafe { warp::warp_shuffle_down(u32::MAX, sums[lane], 1, WARP) };
    });
    unrolled::<2>(|half| {
        let by = 2 >> half;
        if by < LANES {
            unrolled::<5>(|lane| {
                if lane + 1 < LANES + by && skew & by != 0 {
                    window[lane] = window[lane + by];
                }
            });
        }
    });
    unrolled::<LANES>(|lane| sums[lane] = window[lane]);
}

/// A pack of B, which begins at `b` and ends at `end`: zeros for elements outside.
///
/// # Safety
/// B's elements are readable.
#[inline(always)]
pub(super) unsafe fn load_clipped<T: Scalar, const LANES: usize>(
    from: *const T,
    [b, end]: [*const T; 2],
) -> [T; LANES] {
    let mut loaded = [T::ZERO; LANES];
    unrolled::<LANES>(|lane| {
        let from = from.wrapping_add(lane);
        // SAFETY: an element of B.
        [loaded[lane]] = unsafe { load_if(from, b <= from && from < end) };
    });
    loaded
}
