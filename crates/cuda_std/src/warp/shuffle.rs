//! The values that shuffles move, and the instruction.

#[cfg(feature = "half")]
use half::{bf16, f16};

use crate::nvvm;
use crate::opaque::{halves, whole};

/// Which lane a value is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpShuffleMode {
    /// The lane of that number.
    Idx,
    /// The lane that much below.
    Up,
    /// The lane that much above.
    Down,
    /// The lane whose number is this one's xor the operand.
    Xor,
}

/// What the shuffles move: integers of 8 to 128 bits and floats of 16 to 64, in pieces of 32 bits.
pub trait WarpShuffleValue: Sized {
    /// See [`warp_shuffle_down`](super::warp_shuffle_down). `mode` should be a constant.
    ///
    /// # Safety
    /// As for that function.
    unsafe fn shuffle(
        mode: WarpShuffleMode,
        mask: u32,
        value: Self,
        b: u32,
        width: u32,
    ) -> (Self, bool);
}

macro_rules! impl_shuffle {
    ($($t:ty: $to_bits:expr, $from_bits:expr;)*) => {$(
        impl WarpShuffleValue for $t {
            #[inline(always)]
            unsafe fn shuffle(mode: WarpShuffleMode, mask: u32, value: Self, b: u32, width: u32) -> (Self, bool) {
                // SAFETY: passed on to the caller.
                let (bits, in_range) = unsafe { shuffle_32(mode, mask, $to_bits(value), b, width) };
                ($from_bits(bits), in_range)
            }
        }
    )*};
    (halves $($t:ty as $half:ty: $split:expr, $join:expr;)*) => {$(
        impl WarpShuffleValue for $t {
            /// Both halves, each by separate shuffles; the source lane is the same.
            #[inline(always)]
            unsafe fn shuffle(mode: WarpShuffleMode, mask: u32, value: Self, b: u32, width: u32) -> (Self, bool) {
                let (low, high): ($half, $half) = $split(value);
                // SAFETY: passed on to the caller.
                let ((low, in_range), (high, _)) = unsafe {
                    (
                        WarpShuffleValue::shuffle(mode, mask, low, b, width),
                        WarpShuffleValue::shuffle(mode, mask, high, b, width),
                    )
                };
                ($join(low, high), in_range)
            }
        }
    )*};
}
impl_shuffle! {
    u8: u32::from, |bits| bits as u8;
    i8: |value| value as u8 as u32, |bits| bits as i8;
    u16: u32::from, |bits| bits as u16;
    i16: |value| value as u16 as u32, |bits| bits as i16;
    u32: core::convert::identity, core::convert::identity;
    i32: i32::cast_unsigned, u32::cast_signed;
    f32: f32::to_bits, f32::from_bits;
}
#[cfg(feature = "half")]
impl_shuffle! {
    f16: |value: f16| u32::from(value.to_bits()), |bits| f16::from_bits(bits as u16);
    bf16: |value: bf16| u32::from(value.to_bits()), |bits| bf16::from_bits(bits as u16);
}
impl_shuffle! {
    halves
    u64 as u32: halves, whole;
    i64 as u32: |value| halves(value as u64), |low, high| whole(low, high) as i64;
    f64 as u32: |value: f64| halves(value.to_bits()), |low, high| f64::from_bits(whole(low, high));
    u128 as u64: |value| (value as u64, (value >> 64) as u64), |low, high| u128::from(low) | u128::from(high) << 64;
    i128 as u64: |value| (value as u64, (value >> 64) as u64), |low, high| (u128::from(low) | u128::from(high) << 64) as i128;
}

/// `shfl.sync` and its predicate, which is computed from the lane's number: where the caller ignores
/// it, LLVM removes it.
#[inline(always)]
unsafe fn shuffle_32(
    mode: WarpShuffleMode,
    mask: u32,
    value: u32,
    b: u32,
    width: u32,
) -> (u32, bool) {
    // The instruction's operand `c` (PTX ISA 9.7.9.6): in bits 8 to 12 the lane bits that identify
    // the segment, in bits 0 to 4 the limit for source lanes: the segment's last lane, or for
    // upward shuffles its first, for which the field is zero.
    let identify = 32u32.wrapping_sub(width);
    let segments = identify << 8;
    let first = nvvm::laneid() & identify;
    let last = first | (!identify & 31);
    let (lane, distance) = (nvvm::laneid(), b & 31);
    // SAFETY: the mask is the caller's promise.
    unsafe {
        match mode {
            WarpShuffleMode::Idx => (nvvm::shfl_idx(mask, value, b, segments | 31), true),
            WarpShuffleMode::Up => (
                nvvm::shfl_up(mask, value, b, segments),
                lane >= first + distance,
            ),
            WarpShuffleMode::Down => (
                nvvm::shfl_down(mask, value, b, segments | 31),
                lane + distance <= last,
            ),
            WarpShuffleMode::Xor => (
                nvvm::shfl_bfly(mask, value, b, segments | 31),
                lane ^ distance <= last,
            ),
        }
    }
}
