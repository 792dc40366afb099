//! A warp: 32 threads (lanes) of a block that the hardware executes together.
//!
//! Every operation here that takes a `mask` waits for all lanes in it. Bit `i` of a mask is lane
//! `i`; `u32::MAX` is the whole warp.
//!
//! # Safety
//!
//! One rule applies to all of them and is not repeated: the calling lane is in `mask`; every lane
//! in `mask` that has not exited calls the same operation with the same mask; no lane in `mask` has
//! exited. Otherwise the result is undefined, and the emulator reports it. None of them orders
//! memory except [`sync_warp`].

mod shuffle;

use crate::nvvm;
pub use shuffle::{WarpShuffleMode, WarpShuffleValue};

/// The lane's number in its warp, `0..32`.
#[inline(always)]
pub fn lane_id() -> u32 {
    nvvm::laneid()
}

/// The lanes of the warp that execute this call together at this moment.
///
/// This is the set of lanes that happen to be active: do not use it as the mask of a later
/// operation.
#[inline(always)]
pub fn activemask() -> u32 {
    // SAFETY: reads a register.
    unsafe { nvvm::activemask() }
}

/// Waits for the lanes in `mask` and orders their memory accesses before the call against those
/// after it.
///
/// # Safety
/// The module's rule on masks.
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: passed on to the caller.
    unsafe { nvvm::bar_warp_sync(mask) }
}

/// Whether `predicate` is true in all lanes of `mask`.
///
/// # Safety
/// The module's rule on masks.
#[inline(always)]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    // SAFETY: passed on to the caller.
    unsafe { nvvm::vote_all(mask, predicate) }
}

/// Whether `predicate` is true in any lane of `mask`.
///
/// # Safety
/// The module's rule on masks.
#[inline(always)]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    // SAFETY: passed on to the caller.
    unsafe { nvvm::vote_any(mask, predicate) }
}

/// The lanes of `mask` in which `predicate` is true, as a mask.
///
/// # Safety
/// The module's rule on masks.
#[inline(always)]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe { nvvm::vote_ballot(mask, predicate) }
}

/// The lanes of `mask` that hold the same `value` (the same bits) as this one, as a mask.
///
/// # Safety
/// The module's rule on masks.
#[inline(always)]
pub unsafe fn warp_match_any<T: WarpMatchValue>(mask: u32, value: T) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe { T::match_any(mask, value) }
}

/// `Some(mask)` if all lanes of `mask` hold the same `value` (the same bits), else `None`.
///
/// # Safety
/// The module's rule on masks.
#[inline(always)]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: passed on to the caller.
    unsafe { T::match_all(mask, value) }
}

/// What [`warp_match_any`] and [`warp_match_all`] compare: integers and floats of 32 and 64 bits,
/// by their bits.
pub trait WarpMatchValue: Sized + Copy {
    /// See [`warp_match_any`].
    ///
    /// # Safety
    /// The module's rule on masks.
    unsafe fn match_any(mask: u32, value: Self) -> u32;

    /// See [`warp_match_all`].
    ///
    /// # Safety
    /// The module's rule on masks.
    #[inline(always)]
    unsafe fn match_all(mask: u32, value: Self) -> Option<u32> {
        // SAFETY: passed on to the caller. All lanes match exactly if each lane's matches are the
        // whole mask.
        (unsafe { Self::match_any(mask, value) } == mask).then_some(mask)
    }
}

/// Combines the `value`s of the lanes in `mask` by `op`; every lane gets the result. Needs sm_80 or
/// newer.
///
/// # Safety
/// The module's rule on masks.
#[inline(always)]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: passed on to the caller.
    unsafe { T::reduce(mask, value, op) }
}

/// How [`warp_reduce`] combines two values. `Add` wraps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// Wrapping sum.
    Add,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

/// What [`warp_reduce`] combines: `u32` and `i32`.
pub trait WarpReduceValue: Sized {
    /// See [`warp_reduce`].
    ///
    /// # Safety
    /// The module's rule on masks.
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self;
}

macro_rules! impl_reduce {
    ($t:ty, $min:ident, $max:ident) => {
        impl WarpReduceValue for $t {
            #[inline(always)]
            unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
                let bits = value as u32;
                // SAFETY: passed on to the caller.
                let result = unsafe {
                    match op {
                        WarpReductionOp::Add => nvvm::redux_add(bits, mask),
                        WarpReductionOp::Min => nvvm::$min(bits, mask),
                        WarpReductionOp::Max => nvvm::$max(bits, mask),
                        WarpReductionOp::And => nvvm::redux_and(bits, mask),
                        WarpReductionOp::Or => nvvm::redux_or(bits, mask),
                        WarpReductionOp::Xor => nvvm::redux_xor(bits, mask),
                    }
                };
                result as $t
            }
        }
    };
}
impl_reduce!(u32, redux_umin, redux_umax);
impl_reduce!(i32, redux_min, redux_max);

/// Reads `value` from the lane `delta` above this one.
///
/// `width` (1, 2, 4, 8, 16 or 32) splits the warp into segments of that many lanes; a lane never
/// reads across a segment's end. Returns the value and whether the source lane is in the segment;
/// if it is not, the value is the lane's own. 64-bit values take two shuffles, 128-bit values four.
///
/// # Safety
/// The module's rule on masks; `width` is one of those named; the source lane is in `mask`.
#[inline(always)]
pub unsafe fn warp_shuffle_down<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    delta: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: passed on to the caller.
    unsafe { T::shuffle(WarpShuffleMode::Down, mask, value, delta, width) }
}

/// Reads `value` from the lane `delta` below this one. Otherwise as [`warp_shuffle_down`].
///
/// # Safety
/// As [`warp_shuffle_down`].
#[inline(always)]
pub unsafe fn warp_shuffle_up<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    delta: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: passed on to the caller.
    unsafe { T::shuffle(WarpShuffleMode::Up, mask, value, delta, width) }
}

/// Reads `value` from lane `idx` of this lane's segment. Otherwise as [`warp_shuffle_down`].
///
/// # Safety
/// As [`warp_shuffle_down`].
#[inline(always)]
pub unsafe fn warp_shuffle_idx<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    idx: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: passed on to the caller.
    unsafe { T::shuffle(WarpShuffleMode::Idx, mask, value, idx, width) }
}

/// Reads `value` from the lane whose number is this one's xor `lane_mask`. Otherwise as
/// [`warp_shuffle_down`].
///
/// # Safety
/// As [`warp_shuffle_down`].
#[inline(always)]
pub unsafe fn warp_shuffle_xor<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    lane_mask: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: passed on to the caller.
    unsafe { T::shuffle(WarpShuffleMode::Xor, mask, value, lane_mask, width) }
}

macro_rules! impl_match {
    ($($t:ty: $to_bits:expr, $match_any:ident;)*) => {$(
        impl WarpMatchValue for $t {
            #[inline(always)]
            unsafe fn match_any(mask: u32, value: Self) -> u32 {
                // SAFETY: passed on to the caller.
                unsafe { nvvm::$match_any(mask, $to_bits(value)) }
            }
        }
    )*};
}
impl_match! {
    u32: core::convert::identity, match_any_32;
    i32: i32::cast_unsigned, match_any_32;
    f32: f32::to_bits, match_any_32;
    u64: core::convert::identity, match_any_64;
    i64: i64::cast_unsigned, match_any_64;
    f64: f64::to_bits, match_any_64;
}
