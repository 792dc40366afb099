//! A warp: the 32 threads (lanes) of a block that the hardware runs together.
//!
//! Every operation here that takes a `mask` waits for all lanes named in it. Bit `i` of a mask stands for lane `i`;
//! `u32::MAX` is the whole warp.
//!
//! # Safety
//!
//! One rule holds for all of them and is not repeated at each: the calling lane is in `mask`; every lane in `mask` that has
//! not exited calls the same operation with the same mask; no lane in `mask` has exited. Otherwise the result is undefined,
//! and the emulator reports it. None of them orders memory except [`sync_warp`].

use crate::nvvm;

/// The lane's number in its warp, `0..32`.
#[inline(always)]
pub fn lane_id() -> u32 {
    nvvm::laneid()
}

/// The lanes of the warp that execute this call together right now.
///
/// This tells what happened to be active, not what should be: don't use it to build the mask of a later operation.
#[inline(always)]
pub fn activemask() -> u32 {
    // SAFETY: reads a register.
    unsafe { nvvm::activemask() }
}

/// Waits for the lanes in `mask` and orders their memory accesses before the call against those after it.
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
    unsafe { value.match_any(mask) }
}

/// `Some(mask)` if all lanes of `mask` hold the same `value` (the same bits), else `None`.
///
/// # Safety
/// The module's rule on masks.
#[inline(always)]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: passed on to the caller. All lanes match exactly if every lane's matches are the whole mask.
    (unsafe { value.match_any(mask) } == mask).then_some(mask)
}

/// What [`warp_match_any`] and [`warp_match_all`] compare: integers and floats of 32 and 64 bits, by their bits.
pub trait WarpMatchValue: sealed::Sealed {
    #[doc(hidden)]
    /// # Safety
    /// The module's rule on masks.
    unsafe fn match_any(self, mask: u32) -> u32;
}

/// Combines the `value`s of the lanes in `mask` by `op`; every lane gets the result. Needs sm_80 or newer.
///
/// # Safety
/// The module's rule on masks.
#[inline(always)]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: passed on to the caller.
    unsafe { value.reduce(mask, op) }
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
pub trait WarpReduceValue: sealed::Sealed {
    #[doc(hidden)]
    /// # Safety
    /// The module's rule on masks.
    unsafe fn reduce(self, mask: u32, op: WarpReductionOp) -> Self;
}

macro_rules! impl_reduce {
    ($t:ty, $min:ident, $max:ident) => {
        impl WarpReduceValue for $t {
            #[inline(always)]
            unsafe fn reduce(self, mask: u32, op: WarpReductionOp) -> Self {
                let bits = self as u32;
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
/// `width` (1, 2, 4, 8, 16 or 32) splits the warp into segments of that many lanes; a lane never reads across a segment's
/// end. Returns the value and whether the source lane was in the segment; if it was not, the value is the lane's own.
/// Values of 64 bits take two shuffles.
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
    unsafe { value.shuffle::<{ mode::DOWN }>(mask, delta, segments(width) | 0x1f) }
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
    // SAFETY: passed on to the caller. Upwards the clamp is the segment's first lane, so its field stays zero.
    unsafe { value.shuffle::<{ mode::UP }>(mask, delta, segments(width)) }
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
    unsafe { value.shuffle::<{ mode::IDX }>(mask, idx, segments(width) | 0x1f) }
}

/// Reads `value` from the lane whose number is this one's exclusive-or `lane_mask`. Otherwise as [`warp_shuffle_down`].
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
    unsafe { value.shuffle::<{ mode::XOR }>(mask, lane_mask, segments(width) | 0x1f) }
}

/// The segment mask of `shfl.sync`'s operand `c`, bits 8 to 12: the lane bits that name the segment (PTX ISA 9.7.9.6).
#[inline(always)]
fn segments(width: u32) -> u32 {
    32u32.wrapping_sub(width) << 8
}

/// What the shuffles move: integers and floats of 32 and 64 bits.
pub trait WarpShuffleValue: sealed::Sealed {
    #[doc(hidden)]
    /// # Safety
    /// The module's rule on masks.
    unsafe fn shuffle<const MODE: u32>(self, mask: u32, b: u32, c: u32) -> (Self, bool);
}

macro_rules! impl_values {
    ($($t:ty: $to_bits:expr, $from_bits:expr, $shuffle:ident, $match_any:ident;)*) => {$(
        impl sealed::Sealed for $t {}
        impl WarpShuffleValue for $t {
            #[inline(always)]
            unsafe fn shuffle<const MODE: u32>(self, mask: u32, b: u32, c: u32) -> (Self, bool) {
                // SAFETY: passed on to the caller.
                let (bits, in_range) = unsafe { $shuffle::<MODE>(mask, $to_bits(self), b, c) };
                ($from_bits(bits), in_range)
            }
        }
        impl WarpMatchValue for $t {
            #[inline(always)]
            unsafe fn match_any(self, mask: u32) -> u32 {
                // SAFETY: passed on to the caller.
                unsafe { nvvm::$match_any(mask, $to_bits(self)) }
            }
        }
    )*};
}
impl_values! {
    u32: core::convert::identity, core::convert::identity, shuffle_32, match_any_32;
    i32: i32::cast_unsigned, u32::cast_signed, shuffle_32, match_any_32;
    f32: f32::to_bits, f32::from_bits, shuffle_32, match_any_32;
    u64: core::convert::identity, core::convert::identity, shuffle_64, match_any_64;
    i64: i64::cast_unsigned, u64::cast_signed, shuffle_64, match_any_64;
    f64: f64::to_bits, f64::from_bits, shuffle_64, match_any_64;
}

/// Both halves of a 64-bit value, each by a shuffle of its own; the source lane is the same.
#[inline(always)]
unsafe fn shuffle_64<const MODE: u32>(mask: u32, value: u64, b: u32, c: u32) -> (u64, bool) {
    // SAFETY: passed on to the caller.
    let ((low, in_range), (high, _)) = unsafe {
        (
            shuffle_32::<MODE>(mask, value as u32, b, c),
            shuffle_32::<MODE>(mask, (value >> 32) as u32, b, c),
        )
    };
    (u64::from(high) << 32 | u64::from(low), in_range)
}

/// `shfl.sync` with its predicate result. LLVM's intrinsic returns a pair, which no Rust declaration can name, so this is
/// assembly; cuda_builder marks it convergent like every call.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn shuffle_32<const MODE: u32>(mask: u32, value: u32, b: u32, c: u32) -> (u32, bool) {
    let (result, in_range): (u32, u32);
    macro_rules! shuffle {
        ($mode:literal) => {
            // SAFETY: the registers are what the instruction takes; the mask is the caller's promise.
            unsafe {
                core::arch::asm!(
                    "{{",
                    ".reg .pred in_range;",
                    concat!("shfl.sync.", $mode, ".b32 {result}|in_range, {value}, {b}, {c}, {mask};"),
                    "selp.u32 {flag}, 1, 0, in_range;",
                    "}}",
                    result = out(reg32) result,
                    flag = out(reg32) in_range,
                    value = in(reg32) value,
                    b = in(reg32) b,
                    c = in(reg32) c,
                    mask = in(reg32) mask,
                    options(nomem, nostack, preserves_flags),
                )
            }
        };
    }
    match MODE {
        mode::IDX => shuffle!("idx"),
        mode::UP => shuffle!("up"),
        mode::DOWN => shuffle!("down"),
        _ => shuffle!("bfly"),
    }
    (result, in_range != 0)
}

#[cfg(not(target_arch = "nvptx64"))]
unsafe fn shuffle_32<const MODE: u32>(_: u32, _: u32, _: u32, _: u32) -> (u32, bool) {
    nvvm::only_on_device("warp_shuffle")
}

mod mode {
    pub(super) const IDX: u32 = 0;
    pub(super) const UP: u32 = 1;
    pub(super) const DOWN: u32 = 2;
    pub(super) const XOR: u32 = 3;
}

mod sealed {
    pub trait Sealed: Copy {}
}
