//! The block's part of [`wide`](super::wide) and [`single`](super::single): the threads' values go
//! through shared memory, and the first warp folds them. Its lanes take [`EACH`] values and then
//! fold their own by shuffles. Shuffles of all warps, and then of the first one, take twice as
//! long, as nothing hides their latency: in graphs on an H200 (2026-11-26) 2²⁰ `f64` are added in
//! 0.95 of the time, a dot product of 2²⁰ `f32` takes 0.98. A block of one warp has its values in
//! its lanes: arrays up to 2¹⁵ elements take 0.97 of the time in such blocks (H100, 2026-11-27).

use core::array;

use cuda_std::prelude::*;
use cuda_std::uniform::{assume_block_uniform, assume_warp_uniform};
use cuda_std::warp::{WarpReductionOp, warp_reduce};

use super::anchored::{Anchored, Parts, add_parts, small};
use super::lanes::{WARP, pairwise};
use super::{Addend, Op};

/// Values that each lane of the first warp takes: as many as a block of 128 has for it. With two or
/// eight, sums of `f64` that the caches hold take 1.01 to 1.04 of the time (H100, 2026-11-27).
pub const EACH: usize = 4;

/// Room for values in shared memory.
pub const SLOTS: u32 = WARP * EACH as u32;

/// What a thread has of its block's value.
#[derive(Clone, Copy, Debug)]
pub enum Share<V> {
    /// Its own value.
    Thread(V),
    /// The block's in thread 0, in others anything.
    Block(V),
}

/// The slots, as values of a type of up to 16 bytes.
#[inline(always)]
fn slots<V>() -> *mut V {
    const { assert!(size_of::<V>() <= 16) };
    // Pairs of 64-bit words: a static cannot depend on a type parameter.
    shared_array![u64; 2 * SLOTS as usize].cast()
}

/// Whether the [parts](Anchored::parts) of all threads of the block can be added, 0 if not, and the
/// sum of the warp's, which it leaves for [`fold_parts`] as well.
///
/// # Safety
/// All threads of the block call it, once, and they form whole warps along x, at most [`EACH`].
#[inline(always)]
pub(super) unsafe fn all_have<T, P>(sum: impl Anchored<T, P>) -> (u32, Parts) {
    let thread = thread::thread_idx_x();
    // SAFETY: whole warps are here, and a warp has a slot. In a block of one warp all threads vote;
    // other blocks' barrier tells all threads the same.
    unsafe {
        let of_warp = sum.parts().map(|part| warp_sum(part));
        // No branch for the few that are small: it would delay the barrier.
        let has = sum.fits() & (!small(of_warp) | sum.is_held());
        let all = if thread::block_dim_x() == WARP {
            u32::from(warp::warp_vote_all(u32::MAX, has))
        } else {
            if thread.is_multiple_of(WARP) {
                let slot = slots::<Parts>().add((thread / WARP) as usize);
                slot.write(of_warp);
            }
            // Orders every warp's sum before the first warp's reads. If a thread has no parts,
            // nothing is read.
            thread::sync_threads_and(u32::from(has))
        };
        (assume_block_uniform(all), of_warp)
    }
}

/// The sum of a part of each lane, in all lanes.
///
/// # Safety
/// All 32 lanes call it.
#[inline(always)]
unsafe fn warp_sum(part: i64) -> i64 {
    // Of 51 bits and a sign: in both halves the sum of 32 has no more than 31.
    const LOW: u32 = 26;
    let low = part as u32 & ((1 << LOW) - 1);
    // SAFETY: the caller's promise.
    let (high, low) = unsafe {
        (
            warp_reduce(u32::MAX, (part >> LOW) as i32, WarpReductionOp::Add),
            warp_reduce(u32::MAX, low, WarpReductionOp::Add),
        )
    };
    (i64::from(high) << LOW) + i64::from(low)
}

/// The sum of all threads' parts in the first warp, in others anything.
///
/// # Safety
/// All threads of the block call it with their warp's sum after [`all_have`] was not 0.
#[inline(always)]
pub(super) unsafe fn fold_parts(of_warp: Parts) -> Parts {
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    // SAFETY: the first warp reads what the barrier has ordered.
    unsafe {
        if threads == WARP || assume_warp_uniform(thread / WARP) > 0 {
            return of_warp;
        }
        let sums: [Parts; EACH] = array::from_fn(|warp| match warp as u32 * WARP < threads {
            true => slots::<Parts>().add(warp).read(),
            false => Parts::default(),
        });
        pairwise(sums, add_parts)
    }
}

/// Combines the values of all threads of the block; thread 0 gets the result, the others
/// unspecified values.
///
/// # Safety
/// All threads of the block call it, once, and they form whole warps along x, at most 32.
#[inline(always)]
pub(super) unsafe fn fold_block<T: Addend, O: Op>(share: Share<O::Value<T>>) -> O::Value<T> {
    let value = match share {
        Share::Thread(value) => value,
        Share::Block(value) => return value,
    };
    let (slots, start) = (slots::<O::Value<T>>(), O::start::<T>());
    let thread = thread::thread_idx_x();
    let lane = thread % WARP;
    let warps = thread::block_dim_x() / WARP;
    // SAFETY: whole warps are here, so every lane in each mask is, and all lanes have the same
    // mask. There are at most SLOTS values.
    unsafe {
        let gather = || {
            let warp = assume_warp_uniform(thread / WARP);
            let (mut value, mut lanes) = (value, WARP);
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
            (warp == 0).then(|| {
                array::from_fn::<_, EACH, _>(|i| {
                    let at = lane + i as u32 * WARP;
                    if at < lanes * warps {
                        slots.add(at as usize).read()
                    } else {
                        start
                    }
                })
            })
        };
        let mut values = [start; EACH];
        if warps == 1 {
            values[0] = value;
        } else {
            let Some(gathered) = gather() else {
                return value;
            };
            values = gathered;
            if !O::divides::<T>() {
                values[0] = pairwise(values, O::merge::<T>);
            }
        }
        match O::divides::<T>() {
            true => O::of_warp::<T, EACH>(values),
            false => O::of_warp::<T, 1>([values[0]]),
        }
    }
}
