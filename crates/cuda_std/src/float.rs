//! Floating-point functions that need no library: each is one or two instructions.

/// Arithmetic on `f32` and `f64` that `core` leaves to `std`.
///
/// On the device each is a PTX instruction (or two) with the rounding that IEEE 754 asks for; on the host it is std's.
pub trait GpuFloat: Copy + PartialOrd {
    /// The largest integer not above `self`.
    fn floor(self) -> Self;
    /// The smallest integer not below `self`.
    fn ceil(self) -> Self;
    /// The nearest integer, halves away from zero.
    fn round(self) -> Self;
    /// The nearest integer, halves to the even one.
    fn round_ties_even(self) -> Self;
    /// The integer part.
    fn trunc(self) -> Self;
    /// `self - self.trunc()`.
    fn fract(self) -> Self;
    /// The absolute value.
    fn abs(self) -> Self;
    /// The magnitude of `self` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// `self · a + b` with one rounding (`fma.rn`).
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The square root, correctly rounded (`sqrt.rn`).
    fn sqrt(self) -> Self;
    /// `1 / self`, correctly rounded.
    fn recip(self) -> Self;
    /// The smaller operand; the other one if one is NaN.
    fn min(self, other: Self) -> Self;
    /// The larger operand; the other one if one is NaN.
    fn max(self, other: Self) -> Self;
}

macro_rules! impl_gpu_float {
    ($t:ident, $math:ident) => {
        impl GpuFloat for $t {
            #[inline(always)]
            fn floor(self) -> Self {
                $math::floor(self)
            }
            #[inline(always)]
            fn ceil(self) -> Self {
                $math::ceil(self)
            }
            #[inline(always)]
            fn round(self) -> Self {
                // 0.5 would round 0.499…9 up by the addition itself; its predecessor does not.
                let half = <$t>::from_bits((0.5 as $t).to_bits() - 1);
                $math::trunc(self + $math::copysign(half, self))
            }
            #[inline(always)]
            fn round_ties_even(self) -> Self {
                $math::round_ties_even(self)
            }
            #[inline(always)]
            fn trunc(self) -> Self {
                $math::trunc(self)
            }
            #[inline(always)]
            fn fract(self) -> Self {
                self - $math::trunc(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$t>::from_bits(self.to_bits() << 1 >> 1)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                $math::copysign(self, sign)
            }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                $math::mul_add(self, a, b)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $math::sqrt(self)
            }
            #[inline(always)]
            fn recip(self) -> Self {
                1.0 / self
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                <$t>::min(self, other)
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                <$t>::max(self, other)
            }
        }
    };
}
impl_gpu_float!(f32, math_f32);
impl_gpu_float!(f64, math_f64);

#[cfg(not(target_arch = "nvptx64"))]
use {f32 as math_f32, f64 as math_f64};

#[cfg(target_arch = "nvptx64")]
macro_rules! device_math {
    ($module:ident, $t:ident) => {
        /// LLVM's generic intrinsics, which the NVPTX backend turns into single instructions.
        mod $module {
            unsafe extern "C" {
                #[link_name = concat!("llvm.floor.", stringify!($t))]
                pub(super) safe fn floor(x: $t) -> $t;
                #[link_name = concat!("llvm.ceil.", stringify!($t))]
                pub(super) safe fn ceil(x: $t) -> $t;
                #[link_name = concat!("llvm.trunc.", stringify!($t))]
                pub(super) safe fn trunc(x: $t) -> $t;
                #[link_name = concat!("llvm.roundeven.", stringify!($t))]
                pub(super) safe fn round_ties_even(x: $t) -> $t;
                #[link_name = concat!("llvm.copysign.", stringify!($t))]
                pub(super) safe fn copysign(x: $t, sign: $t) -> $t;
                #[link_name = concat!("llvm.fma.", stringify!($t))]
                pub(super) safe fn mul_add(x: $t, a: $t, b: $t) -> $t;
                #[link_name = concat!("llvm.sqrt.", stringify!($t))]
                pub(super) safe fn sqrt(x: $t) -> $t;
            }
        }
    };
}
#[cfg(target_arch = "nvptx64")]
device_math!(math_f32, f32);
#[cfg(target_arch = "nvptx64")]
device_math!(math_f64, f64);

#[cfg(test)]
mod tests {
    use super::GpuFloat;

    #[test]
    fn round_is_away_from_zero_at_halves_and_keeps_the_rest() {
        for x in [
            0.0,
            -0.0,
            0.5,
            -0.5,
            0.49999997,
            1.5,
            2.5,
            -2.5,
            8388609.0,
            1e30,
            f32::INFINITY,
        ] {
            assert_eq!(GpuFloat::round(x).to_bits(), f32::round(x).to_bits(), "{x}");
        }
        assert_eq!(GpuFloat::round(0.49999999999999994_f64), 0.0);
        assert!(GpuFloat::round(f64::NAN).is_nan());
    }
}
