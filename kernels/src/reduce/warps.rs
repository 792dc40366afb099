//! The block's part of [`wide`](super::wide) and [`single`](super::single): the threads' values go
//! through shared memory, and the first warp folds them. Its lanes take [`EACH`] values and then
//! fold their own by shuffles. Shuffles of all warps, and then of the first one, take twice as
//! long, as nothing hides their latency: in graphs on an H200 (2026-11-26) 2²⁰ `f64` are added in
//! 0.95 of the time, a dot product of 2²⁰ `f32` takes 0.98. A block of one warp has its values in
//! its lanes: arrays up to 2¹⁵ elements take 0.99 of the time in such blocks (2026-11-27).

use core::array;

use cuda_std::prelude::*;
use cuda_std::uniform::assume_warp_uniform;

use super::anchored::Anchored;
use super::lanes::WARP;
use super::{Addend, Op};

/// Values that each lane of the first warp takes: as many as a block of 128 has for it. With two or
/// eight, sums of `f64` that the caches hold take 1.01 to 1.04 of the time (H100, 2026-11-27).
pub const EACH: usize = 4;

/// Room for values in shared memory.
pub const SLOTS: u32 = WARP * EACH as u32;

/// What a thread adds to its block's value.
#[derive(Clone, Copy, Debug)]
pub struct Share<V> {
    /// Its value.
    pub value: V,
    /// Whether the value is [parts](super::anchored::Anchored::parts) by the block's anchor.
    pub parts: bool,
}

/// Combines the values of all threads of the block; thread 0 gets the result, the others
/// unspecified values. If ANCHORED, some blocks' values are parts.
///
/// # Safety
/// All threads of the block call it, once, and they form whole warps along x, at most 32.
#[inline(always)]
pub(super) unsafe fn fold_block<T: Addend, O: Op, const ANCHORED: bool>(
    share: Share<O::Value<T>>,
) -> O::Value<T> {
    let Share { mut value, parts } = share;
    // Pairs of 64-bit words instead of the type: a static cannot depend on a type parameter.
    let slots = shared_array![u64; 2 * SLOTS as usize].cast::<O::Value<T>>();
    const { assert!(size_of::<O::Value<T>>() <= 16) };
    let thread = thread::thread_idx_x();
    let lane = thread % WARP;
    let warps = thread::block_dim_x() / WARP;
    // SAFETY: whole warps are here, so every lane in each mask is, and all lanes have the same
    // mask. There are at most SLOTS values.
    unsafe {
        let (values, parts) = if warps == 1 {
            let parts = ANCHORED && T::Anchored::FASTER && warp::warp_vote_all(u32::MAX, parts);
            let mut values = [O::start::<T>(); EACH];
            values[0] = value;
            (values, parts)
        } else {
            let warp = assume_warp_uniform(thread / WARP);
            let mut lanes = WARP;
            while lanes * warps > SLOTS {
                lanes /= 2;
                let (other, _) = warp::warp_shuffle_down(u32::MAX, value, lanes, WARP);
                value = O::merge::<T>(value, other);
            }
            if lane < lanes {
                slots.add((warp * lanes + lane) as usize).write(value);
            }
            // Orders every thread's value before the first warp's reads.
            let parts = if ANCHORED && T::Anchored::FASTER {
                thread::sync_threads_and(u32::from(parts)) != 0
            } else {
                thread::sync_threads();
                false
            };
            if warp != 0 {
                return value;
            }
            let values = array::from_fn(|i| {
                let at = lane + i as u32 * WARP;
                if at < lanes * warps {
                    slots.add(at as usize).read()
                } else {
                    O::start::<T>()
                }
            });
            (values, parts)
        };
        O::of_warp::<T, EACH>(values, parts)
    }
}
