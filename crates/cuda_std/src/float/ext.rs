//! Functions that std does not have either.

use super::sealed::Sealed;

#[cfg(target_arch = "nvptx64")]
use super::device::{special_f32, special_f64};
#[cfg(not(target_arch = "nvptx64"))]
use super::host::{special_f32, special_f64};

/// Special functions of `f32` and `f64`.
pub trait FloatExt: Sized + Sealed {
    /// sin(π · `self`).
    fn sinpi(self) -> Self;
    /// cos(π · `self`).
    fn cospi(self) -> Self;
    /// erf: 2/√π times the integral of exp(−t²) from 0 to `self`.
    fn error_function(self) -> Self;
    /// erfc: 1 − erf.
    fn complementary_error_function(self) -> Self;
    /// The inverse of erfc.
    fn inv_complementary_error_function(self) -> Self;
    /// erfcx: exp(`self`²) · erfc(`self`).
    fn scaled_complementary_error_function(self) -> Self;
    /// The standard normal distribution's cumulative function.
    fn norm_cdf(self) -> Self;
    /// The inverse of [`norm_cdf`](Self::norm_cdf).
    fn inv_norm_cdf(self) -> Self;
    /// The Bessel function of the first kind, order 0.
    fn j0(self) -> Self;
    /// The Bessel function of the first kind, order 1.
    fn j1(self) -> Self;
    /// The Bessel function of the second kind, order 0.
    fn y0(self) -> Self;
    /// The Bessel function of the second kind, order 1.
    fn y1(self) -> Self;
    /// The gamma function.
    fn gamma(self) -> Self;
    /// The logarithm of the gamma function's magnitude.
    fn log_gamma(self) -> Self;
    /// `(1 + self).ln()` without cancellation near 0; the same as `ln_1p`.
    fn log1p(self) -> Self;
    /// The reciprocal of the cube root.
    fn rcbrt(self) -> Self;
    /// The Bessel function of the first kind.
    fn jn(self, order: i32) -> Self;
    /// The Bessel function of the second kind.
    fn yn(self, order: i32) -> Self;
    /// `self` times 2 to the power `exp`.
    fn ldexp(self, exp: i32) -> Self;
    /// `self` times 2 to the power `exp`.
    fn scale_by_n(self, exp: i32) -> Self;
    /// Sine and cosine of π · `self` at once.
    fn sincospi(self) -> (Self, Self);
    /// A fraction of magnitude in [0.5, 1) and the exponent of 2 that goes with it; zero,
    /// infinities and NaN with exponent 0.
    fn frexp(self) -> (Self, i32);
    /// The exponent of 2, as an integer: `i32::MIN` for zero (and NaN), `i32::MAX` for infinities.
    fn unbiased_exp(self) -> i32;
    /// `self` clamped to [0, 1]; NaN becomes 0.
    fn saturate(self) -> Self;
}

macro_rules! impl_float_ext {
    ($t:ident, $special:ident: $($name:ident($($order:ident: i32)?);)*) => {
        impl FloatExt for $t {
            $(
                #[inline(always)]
                fn $name(self $(, $order: i32)?) -> Self {
                    $special::$name(self $(, $order)?)
                }
            )*
            #[inline(always)]
            fn sincospi(self) -> (Self, Self) {
                $special::sincospi(self)
            }
            #[inline(always)]
            fn frexp(self) -> (Self, i32) {
                $special::frexp(self)
            }
            #[inline(always)]
            fn unbiased_exp(self) -> i32 {
                $special::unbiased_exp(self)
            }
            #[inline(always)]
            fn saturate(self) -> Self {
                // Written so that NaN becomes 0.
                if self > 0.0 { <$t>::min(self, 1.0) } else { 0.0 }
            }
        }
    };
    ($($t:ident, $special:ident;)*) => {$(
        impl_float_ext! {
            $t, $special:
            sinpi();
            cospi();
            error_function();
            complementary_error_function();
            inv_complementary_error_function();
            scaled_complementary_error_function();
            norm_cdf();
            inv_norm_cdf();
            j0();
            j1();
            y0();
            y1();
            gamma();
            log_gamma();
            log1p();
            rcbrt();
            jn(order: i32);
            yn(order: i32);
            ldexp(order: i32);
            scale_by_n(order: i32);
        }
    )*};
}
impl_float_ext! {
    f32, special_f32;
    f64, special_f64;
}
