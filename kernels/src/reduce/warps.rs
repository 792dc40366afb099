//! The block's part of [`wide`](super::wide) and [`single`](super::single): the threads' values go
//! through shared memory, and the first warp folds them. Its lanes take [`EACH`] values and then
//! fold their own by shuffles. Shuffles of all warps, and then of the first one, take twice as
//! long, as nothing hides their latency: in graphs on an H200 (2026-11-26) 2²⁰ `f64` are added in
//! 0.95 of the time, a dot product of 2²⁰ `f32` takes 0.98. A block of one warp has its values in
//! its lanes: arrays up to 2¹⁵ elements take 0.99 of the time in such blocks (2026-11-27).

use core::array;

use cuda_std::prelude::*;
use cuda_std::uniform::{assume_block_uniform, assume_warp_uniform};

use super::lanes::{WARP, fold_segments, pairwise};
use super::{Addend, Op, Partial};

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

/// Whether all threads of the block have [parts](super::anchored::Anchored::parts): 0 if not. It
/// leaves them for [`fold_parts`].
///
/// # Safety
/// All threads of the block call it, once, and they form whole warps along x. There are at most
/// [`SLOTS`].
#[inline(always)]
pub(super) unsafe fn all_have<P: Partial>(parts: Option<P>) -> u32 {
    // SAFETY: whole warps are here, and a thread has a slot. In a block of one warp all threads
    // vote; other blocks' barrier tells all threads the same.
    unsafe {
        let all = if thread::block_dim_x() == WARP {
            u32::from(warp::warp_vote_all(u32::MAX, parts.is_some()))
        } else {
            let slot = slots::<P>().add(thread::thread_idx_x() as usize);
            slot.write(parts.unwrap_or(P::ZERO));
            // Orders every thread's parts before the first warp's reads. If one has none, nothing
            // is read.
            thread::sync_threads_and(u32::from(parts.is_some()))
        };
        assume_block_uniform(all)
    }
}

/// The sum of all threads' parts in thread 0, in others anything.
///
/// # Safety
/// All threads of the block call it with their parts after [`all_have`] was not 0.
#[inline(always)]
pub(super) unsafe fn fold_parts<P: Partial>(parts: P) -> P {
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let mut value = parts;
    // SAFETY: whole warps are here. The first one reads what the barrier has ordered.
    unsafe {
        if threads != WARP {
            if assume_warp_uniform(thread / WARP) > 0 {
                return value;
            }
            let values: [P; EACH] = array::from_fn(|i| {
                let at = thread + i as u32 * WARP;
                if at < threads {
                    slots::<P>().add(at as usize).read()
                } else {
                    P::ZERO
                }
            });
            value = pairwise(values, P::add_parts);
        }
        fold_segments(u32::MAX, value, WARP, P::add_parts)
    }
}

/// Combines the values of all threads of the block; thread 0 gets the result, the others
/// unspecified values.
///
/// # Safety
/// All threads of the block call it, once, and they form whole warps along x, at most 32.
#[inline(always)]
pub(super) unsafe fn fold_block<T: Addend, O: Op>(share: Share<O::Value<T>>) -> O::Value<T> {
    let mut value = match share {
        Share::Thread(value) => value,
        Share::Block(value) => return value,
    };
    let slots = slots::<O::Value<T>>();
    let thread = thread::thread_idx_x();
    let lane = thread % WARP;
    let warps = thread::block_dim_x() / WARP;
    // SAFETY: whole warps are here, so every lane in each mask is, and all lanes have the same
    // mask. There are at most SLOTS values.
    unsafe {
        let values = if warps == 1 {
            let mut values = [O::start::<T>(); EACH];
            values[0] = value;
            values
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
            thread::sync_threads();
            if warp != 0 {
                return value;
            }
            array::from_fn(|i| {
                let at = lane + i as u32 * WARP;
                if at < lanes * warps {
                    slots.add(at as usize).read()
                } else {
                    O::start::<T>()
                }
            })
        };
        O::of_warp::<T, EACH>(values)
    }
}
