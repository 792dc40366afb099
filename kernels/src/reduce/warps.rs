//! The block's part of [`wide`](super::wide) and [`single`](super::single): the threads' values go
//! through shared memory, and the first warp folds them. Its lanes take [`EACH`] values and then fold
//! their own by shuffles. Shuffles of all warps, and then of the first one, take twice as long, as
//! nothing hides their latency: in graphs on an H200 (2026-11-26) 2²⁰ `f64` are added in 0.95 of
//! the time, a dot product of 2²⁰ `f32` takes 0.98.

use core::array;

use cuda_std::prelude::*;
use cuda_std::uniform::assume_warp_uniform;

use super::lanes::WARP;
use super::{Addend, Op};

/// Values that each lane of the first warp takes: as many as a block of 128 has for it. With two or
/// eight, sums of `f64` that the caches hold take 1.01 to 1.04 of the time (H100, 2026-11-27).
pub const EACH: usize = 4;

/// Room for values in shared memory.
pub const SLOTS: u32 = WARP * EACH as u32;

/// Combines the values of all threads of the block; thread 0 gets the result, the others
/// unspecified values.
///
/// # Safety
/// All threads of the block call it, once, and they form whole warps along x, at most 32.
#[inline(always)]
pub(super) unsafe fn fold_block<T: Addend, O: Op>(mut value: O::Value<T>) -> O::Value<T> {
    // Pairs of 64-bit words instead of the type: a static cannot depend on a type parameter.
    let slots = shared_array![u64; 2 * SLOTS as usize].cast::<O::Value<T>>();
    const { assert!(size_of::<O::Value<T>>() <= 16) };
    let thread = thread::thread_idx_x();
    let lane = thread % WARP;
    let warps = thread::block_dim_x() / WARP;
    // SAFETY: whole warps are here, so every lane in each mask is, and all lanes have the same
    // mask. There are at most SLOTS values.
    unsafe {
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
        thread::sync_threads();
        if warp != 0 {
            return value;
        }
        O::of_warp::<T, EACH>(array::from_fn(|i| {
            let at = lane + i as u32 * WARP;
            if at < lanes * warps {
                slots.add(at as usize).read()
            } else {
                O::start::<T>()
            }
        }))
    }
}
