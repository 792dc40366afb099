//! The values that shuffles move, and the instruction.

#[cfg(feature = "half")]
use half::{bf16, f16};

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
    u64 as u32: |value| (value as u32, (value >> 32) as u32), |low, high| u64::from(low) | u64::from(high) << 32;
    i64 as u32: |value| (value as u32, (value >> 32) as u32), |low, high| (u64::from(low) | u64::from(high) << 32) as i64;
    f64 as u32: |value: f64| (value.to_bits() as u32, (value.to_bits() >> 32) as u32), |low, high| f64::from_bits(u64::from(low) | u64::from(high) << 32);
    u128 as u64: |value| (value as u64, (value >> 64) as u64), |low, high| u128::from(low) | u128::from(high) << 64;
    i128 as u64: |value| (value as u64, (value >> 64) as u64), |low, high| (u128::from(low) | u128::from(high) << 64) as i128;
}

/// `shfl.sync` with its predicate result. LLVM's intrinsic returns a pair, which no Rust
/// declaration can name, so this is assembly; cuda_builder marks it convergent like every call.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn shuffle_32(
    mode: WarpShuffleMode,
    mask: u32,
    value: u32,
    b: u32,
    width: u32,
) -> (u32, bool) {
    let (result, in_range): (u32, u32);
    // The instruction's operand `c` (PTX ISA 9.7.9.6): in bits 8 to 12 the lane bits that identify
    // the segment, in bits 0 to 4 the limit for source lanes: the segment's last lane, or for
    // upward shuffles its first, for which the field is zero.
    let segments = 32u32.wrapping_sub(width) << 8;
    macro_rules! shuffle {
        ($mode:literal, $c:expr) => {
            // SAFETY: the registers are what the instruction takes; the mask is the caller's
            // promise.
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
                    c = in(reg32) $c,
                    mask = in(reg32) mask,
                    options(nomem, nostack, preserves_flags),
                )
            }
        };
    }
    match mode {
        WarpShuffleMode::Idx => shuffle!("idx", segments | 0x1f),
        WarpShuffleMode::Up => shuffle!("up", segments),
        WarpShuffleMode::Down => shuffle!("down", segments | 0x1f),
        WarpShuffleMode::Xor => shuffle!("bfly", segments | 0x1f),
    }
    (result, in_range != 0)
}

#[cfg(not(target_arch = "nvptx64"))]
unsafe fn shuffle_32(_: WarpShuffleMode, _: u32, _: u32, _: u32, _: u32) -> (u32, bool) {
    crate::nvvm::only_on_device("warp_shuffle")
}
