//! The block's part of [`wide`](super::wide) and [`single`](super::single): each warp folds by
//! shuffles, and the first warp folds the warps' results.

use cuda_std::prelude::*;
use cuda_std::uniform::assume_warp_uniform;

use super::{Addend, Op};

/// Lanes per warp, and the most warps per block.
pub(super) const WARP: u32 = 32;

/// Combines the values of all threads of the block; thread 0 gets the result, the others
/// unspecified values.
///
/// # Safety
/// All threads of the block call it, and they form whole warps along x, at most 32. There is a
/// barrier between two calls.
#[inline(always)]
pub(super) unsafe fn shuffle<T: Addend, O: Op>(value: O::Value<T>) -> O::Value<T> {
    // Pairs of 64-bit words instead of the type: a static cannot depend on a type parameter.
    let slots = shared_array![u64; 2 * WARP as usize].cast::<O::Value<T>>();
    const { assert!(size_of::<O::Value<T>>() <= 16) };
    let thread = thread::thread_idx_x();
    let lane = thread % WARP;
    // SAFETY: whole warps are here, so every lane in each mask is, and all lanes have the same
    // mask.
    unsafe {
        let warp = assume_warp_uniform(thread / WARP);
        let value = combine_warp::<T, O>(value);
        if lane == 0 {
            slots.add(warp as usize).write(value);
        }
        // Orders every warp's value before the first warp's reads.
        thread::sync_threads();
        if warp != 0 {
            return value;
        }
        let warps = thread::block_dim_x() / WARP;
        let value = if lane < warps {
            slots.add(lane as usize).read()
        } else {
            O::start::<T>()
        };
        combine_warp::<T, O>(value)
    }
}

/// Combines the values of a warp's lanes in five rounds; lane 0 gets the result.
///
/// # Safety
/// All 32 lanes call it.
#[inline(always)]
pub(crate) unsafe fn combine_warp<T: Addend, O: Op>(mut value: O::Value<T>) -> O::Value<T> {
    let mut delta = WARP / 2;
    while delta > 0 {
        // SAFETY: the caller's promise.
        let (other, _) = unsafe { warp::warp_shuffle_down(u32::MAX, value, delta, WARP) };
        value = O::merge::<T>(value, other);
        delta /= 2;
    }
    value
}
