//! A warp's lanes fold their values by shuffles.

use cuda_std::unroll::unrolled;
use cuda_std::warp::{WarpShuffleValue, warp_shuffle_down};

use crate::here::rolled;

/// Lanes of a warp.
pub(super) const WARP: u32 = 32;

/// Folds `N` values of each lane; lane 0 gets the result, the others unspecified values.
///
/// # Safety
/// All 32 lanes call it.
#[inline(always)]
pub(super) unsafe fn fold_lanes<V: Copy + WarpShuffleValue, const N: usize>(
    values: [V; N],
    merge: impl Fn(V, V) -> V,
) -> V {
    let mut value = pairwise(values, &merge);
    rolled(WARP.ilog2(), |round| {
        let distance = (WARP / 2) >> round;
        // SAFETY: the caller's promise.
        let (other, _) = unsafe { warp_shuffle_down(u32::MAX, value, distance, WARP) };
        value = merge(value, other);
    });
    value
}

/// Folds the values of each `width` neighbouring lanes, the upper half into the lower; the first of
/// them gets the result, the others unspecified values.
///
/// # Safety
/// All lanes of `mask`, which are those of the warp that exist, call it with the same `width`: a
/// power of two up to 32.
#[inline(always)]
pub(super) unsafe fn fold_segments<V: Copy + WarpShuffleValue>(
    mask: u32,
    mut value: V,
    width: u32,
    merge: impl Fn(V, V) -> V,
) -> V {
    let mut delta = width / 2;
    while delta > 0 {
        // SAFETY: the caller's promise.
        let (other, _) = unsafe { warp_shuffle_down(mask, value, delta, width) };
        value = merge(value, other);
        delta /= 2;
    }
    value
}

/// What lane 0 gets from [`fold_lanes`] of one value of each lane, on the host.
#[cfg(not(target_arch = "nvptx64"))]
pub(super) fn shuffled<V: Copy>(mut lanes: [V; WARP as usize], merge: impl Fn(V, V) -> V) -> V {
    for delta in [16, 8, 4, 2, 1] {
        for lane in 0..lanes.len() - delta {
            lanes[lane] = merge(lanes[lane], lanes[lane + delta]);
        }
    }
    lanes[0]
}

/// Folds `N` values, neighbours first: the chain of folds is as short as it can be. `N` is a power
/// of two.
#[inline(always)]
pub(super) fn pairwise<V: Copy, const N: usize>(
    mut values: [V; N],
    merge: impl Fn(V, V) -> V,
) -> V {
    const { assert!(N.is_power_of_two() && N <= 32) };
    unrolled::<5>(|level| {
        let apart = 1 << level;
        unrolled::<N>(|i| {
            if i % (2 * apart) == 0 && i + apart < N {
                values[i] = merge(values[i], values[i + apart]);
            }
        });
    });
    values[0]
}
