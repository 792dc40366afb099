//! Floating-point functions: what `core` lacks and `std` has, and more.
//!
//! On the device rounding, square roots and fused multiplication are instructions; the others are
//! libdevice's, within the error bounds in the appendix on mathematical functions of the CUDA C++
//! programming guide. On the host they are std's.

#[cfg(target_arch = "nvptx64")]
mod device;
mod ext;
#[cfg(not(target_arch = "nvptx64"))]
mod host;
mod methods;

pub use ext::FloatExt;
pub use methods::FloatMethods;

#[cfg(target_arch = "nvptx64")]
use device::{math_f32, math_f64};
#[cfg(not(target_arch = "nvptx64"))]
use {f32 as math_f32, f64 as math_f64};

/// Arithmetic on `f32` and `f64` that `core` leaves to `std`, with std's names and meanings.
pub trait GpuFloat: Copy + PartialOrd + sealed::Sealed {
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
    /// 1 or −1 with the sign of `self`; NaN stays NaN.
    fn signum(self) -> Self;
    /// The magnitude of `self` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// `self · a + b` with one rounding (`fma.rn`).
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The integer `q` for which `self - q · rhs` is what [`rem_euclid`](Self::rem_euclid) gives.
    fn div_euclid(self, rhs: Self) -> Self;
    /// The least nonnegative remainder of `self / rhs`, up to rounding.
    fn rem_euclid(self, rhs: Self) -> Self;
    /// `self` to the power `n`, by multiplications.
    fn powi(self, n: i32) -> Self;
    /// `self` to the power `n`.
    fn powf(self, n: Self) -> Self;
    /// The square root, correctly rounded (`sqrt.rn`) unless the builder asks for fast ones.
    fn sqrt(self) -> Self;
    /// `1 / self`, correctly rounded unless the builder asks for fast division.
    fn recip(self) -> Self;
    /// e to the power `self`.
    fn exp(self) -> Self;
    /// 2 to the power `self`.
    fn exp2(self) -> Self;
    /// `self.exp() - 1` without cancellation near 0.
    fn exp_m1(self) -> Self;
    /// The natural logarithm.
    fn ln(self) -> Self;
    /// `(1 + self).ln()` without cancellation near 0.
    fn ln_1p(self) -> Self;
    /// The logarithm to any base, as a quotient of two.
    fn log(self, base: Self) -> Self;
    /// The logarithm to base 2.
    fn log2(self) -> Self;
    /// The logarithm to base 10.
    fn log10(self) -> Self;
    /// The cube root.
    fn cbrt(self) -> Self;
    /// `(self² + other²).sqrt()` without overflow on the way.
    fn hypot(self, other: Self) -> Self;
    /// The sine of an angle in radians.
    fn sin(self) -> Self;
    /// The cosine of an angle in radians.
    fn cos(self) -> Self;
    /// The tangent of an angle in radians.
    fn tan(self) -> Self;
    /// Sine and cosine at once.
    fn sin_cos(self) -> (Self, Self);
    /// The angle in [−π/2, π/2] with this sine.
    fn asin(self) -> Self;
    /// The angle in [0, π] with this cosine.
    fn acos(self) -> Self;
    /// The angle in [−π/2, π/2] with this tangent.
    fn atan(self) -> Self;
    /// The angle in [−π, π] of the point (`other`, `self`).
    fn atan2(self, other: Self) -> Self;
    /// The hyperbolic sine.
    fn sinh(self) -> Self;
    /// The hyperbolic cosine.
    fn cosh(self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The inverse of [`sinh`](Self::sinh).
    fn asinh(self) -> Self;
    /// The inverse of [`cosh`](Self::cosh).
    fn acosh(self) -> Self;
    /// The inverse of [`tanh`](Self::tanh).
    fn atanh(self) -> Self;
    /// The smaller operand; the other one if one is NaN.
    fn min(self, other: Self) -> Self;
    /// The larger operand; the other one if one is NaN.
    fn max(self, other: Self) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Functions that the host's floats and the device's module have under the same names.
macro_rules! forward {
    ($math:ident: $($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        #[inline(always)]
        fn $name(self $(, $argument: $type)*) -> $result {
            $math::$name(self $(, $argument)*)
        }
    )*};
}

macro_rules! impl_gpu_float {
    ($t:ident, $math:ident) => {
        impl GpuFloat for $t {
            forward! {
                $math:
                floor() -> Self;
                ceil() -> Self;
                round_ties_even() -> Self;
                trunc() -> Self;
                copysign(sign: Self) -> Self;
                mul_add(a: Self, b: Self) -> Self;
                powi(n: i32) -> Self;
                powf(n: Self) -> Self;
                sqrt() -> Self;
                exp() -> Self;
                exp2() -> Self;
                exp_m1() -> Self;
                ln() -> Self;
                ln_1p() -> Self;
                log2() -> Self;
                log10() -> Self;
                cbrt() -> Self;
                hypot(other: Self) -> Self;
                sin() -> Self;
                cos() -> Self;
                tan() -> Self;
                sin_cos() -> (Self, Self);
                asin() -> Self;
                acos() -> Self;
                atan() -> Self;
                atan2(other: Self) -> Self;
                sinh() -> Self;
                cosh() -> Self;
                tanh() -> Self;
                asinh() -> Self;
                acosh() -> Self;
                atanh() -> Self;
            }
            #[inline(always)]
            fn round(self) -> Self {
                // 0.5 would round 0.499…9 up by the addition itself; its predecessor does not.
                let half = <$t>::from_bits((0.5 as $t).to_bits() - 1);
                $math::trunc(self + $math::copysign(half, self))
            }
            #[inline(always)]
            fn fract(self) -> Self {
                self - $math::trunc(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$t>::abs(self)
            }
            #[inline(always)]
            fn signum(self) -> Self {
                <$t>::signum(self)
            }
            #[inline(always)]
            fn div_euclid(self, rhs: Self) -> Self {
                let quotient = $math::trunc(self / rhs);
                match self % rhs {
                    rest if rest >= 0.0 || rest.is_nan() => quotient,
                    _ if rhs > 0.0 => quotient - 1.0,
                    _ => quotient + 1.0,
                }
            }
            #[inline(always)]
            fn rem_euclid(self, rhs: Self) -> Self {
                let rest = self % rhs;
                if rest < 0.0 {
                    rest + <$t>::abs(rhs)
                } else {
                    rest
                }
            }
            #[inline(always)]
            fn recip(self) -> Self {
                1.0 / self
            }
            #[inline(always)]
            fn log(self, base: Self) -> Self {
                $math::ln(self) / $math::ln(base)
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
