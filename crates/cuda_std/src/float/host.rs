//! [`FloatExt`](super::FloatExt) on the host: libm's functions, and formulas from them where it has
//! none.

use core::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

pub(super) mod special_f64 {
    use super::*;

    pub(in crate::float) use libm::{
        erf as error_function, erfc as complementary_error_function, frexp as split, j0, j1, ldexp,
        lgamma as log_gamma, log1p, scalbn as scale_by_n, tgamma as gamma, y0, y1,
    };

    pub(in crate::float) fn frexp(x: f64) -> (f64, i32) {
        if x.is_finite() { split(x) } else { (x, 0) }
    }

    pub(in crate::float) fn unbiased_exp(x: f64) -> i32 {
        // libm returns another value for zero and NaN.
        if x == 0.0 || x.is_nan() {
            i32::MIN
        } else {
            libm::ilogb(x)
        }
    }

    pub(in crate::float) fn jn(x: f64, order: i32) -> f64 {
        libm::jn(order, x)
    }

    pub(in crate::float) fn yn(x: f64, order: i32) -> f64 {
        libm::yn(order, x)
    }

    pub(in crate::float) fn sincospi(x: f64) -> (f64, f64) {
        // Both have the period 2, and quarters of it are exact; the remainder is exact too.
        let quarter = (2.0 * (x % 2.0)).round_ties_even();
        let (sin, cos) = ((x % 2.0 - quarter / 2.0) * PI).sin_cos();
        match quarter.rem_euclid(4.0) as u32 {
            0 => (sin, cos),
            1 => (cos, -sin),
            2 => (-sin, -cos),
            _ => (-cos, sin),
        }
    }

    pub(in crate::float) fn sinpi(x: f64) -> f64 {
        sincospi(x).0
    }

    pub(in crate::float) fn cospi(x: f64) -> f64 {
        sincospi(x).1
    }

    pub(in crate::float) fn rcbrt(x: f64) -> f64 {
        1.0 / x.cbrt()
    }

    pub(in crate::float) fn norm_cdf(x: f64) -> f64 {
        0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
    }

    pub(in crate::float) fn inv_norm_cdf(p: f64) -> f64 {
        -SQRT_2 * inv_complementary_error_function(2.0 * p)
    }

    pub(in crate::float) fn scaled_complementary_error_function(x: f64) -> f64 {
        if x < 10.0 {
            return (x * x).exp() * libm::erfc(x);
        }
        // The continued fraction of erfc (Abramowitz and Stegun 7.1.14), from its end; 16 terms are
        // exact from 10 on.
        let tail = (1..=16)
            .rev()
            .fold(x, |below, n| x + f64::from(n) / 2.0 / below);
        1.0 / (PI.sqrt() * tail)
    }

    pub(in crate::float) fn inv_complementary_error_function(y: f64) -> f64 {
        match y {
            0.0 => return f64::INFINITY,
            2.0 => return f64::NEG_INFINITY,
            _ if !(0.0..=2.0).contains(&y) => return f64::NAN,
            _ if y > 1.0 => return -inv_complementary_error_function(2.0 - y),
            _ => {}
        }
        // Starts on the correct side of the root, from the tail's leading term; then Halley's
        // steps, each of which triples the digits.
        let mut x = if y > 0.5 {
            (1.0 - y) * PI.sqrt() / 2.0
        } else {
            (-(y * PI.sqrt()).ln()).max(0.2).sqrt()
        };
        for _ in 0..8 {
            let error = libm::erfc(x) - y;
            let slope = -2.0 / PI.sqrt() * (-x * x).exp();
            x -= error / (slope + x * error);
        }
        x
    }
}

/// In double precision, rounded once at the end.
pub(super) mod special_f32 {
    use super::special_f64;

    macro_rules! by_f64 {
        ($($name:ident)* / $($with_integer:ident)*) => {
            $(
                pub(in crate::float) fn $name(x: f32) -> f32 {
                    special_f64::$name(f64::from(x)) as f32
                }
            )*
            $(
                pub(in crate::float) fn $with_integer(x: f32, n: i32) -> f32 {
                    special_f64::$with_integer(f64::from(x), n) as f32
                }
            )*
        };
    }
    by_f64! {
        sinpi cospi error_function complementary_error_function inv_complementary_error_function
        scaled_complementary_error_function norm_cdf inv_norm_cdf j0 j1 y0 y1 gamma log_gamma log1p rcbrt
        / jn yn ldexp scale_by_n
    }

    pub(in crate::float) fn sincospi(x: f32) -> (f32, f32) {
        let (sin, cos) = special_f64::sincospi(f64::from(x));
        (sin as f32, cos as f32)
    }

    pub(in crate::float) fn frexp(x: f32) -> (f32, i32) {
        let (fraction, exponent) = special_f64::frexp(f64::from(x));
        (fraction as f32, exponent)
    }

    pub(in crate::float) fn unbiased_exp(x: f32) -> i32 {
        special_f64::unbiased_exp(f64::from(x))
    }
}

#[cfg(test)]
mod tests {
    use crate::FloatExt;

    #[track_caller]
    fn check(got: f64, expected: f64) {
        assert!(
            (got - expected).abs() <= 1e-14 * expected.abs(),
            "{got:e}, not {expected:e}"
        );
    }

    /// Values from the NIST Digital Library of Mathematical Functions' definitions, computed with
    /// 60 digits.
    #[test]
    fn what_libm_lacks() {
        check(
            0.5_f64.scaled_complementary_error_function(),
            0.615_690_344_192_925_9,
        );
        check(
            20.0_f64.scaled_complementary_error_function(),
            0.028_174_348_741_051_32,
        );
        check(1.0_f64.norm_cdf(), 0.841_344_746_068_542_9);
        check(0.25_f64.sinpi(), core::f64::consts::FRAC_1_SQRT_2);
        assert_eq!((1e15_f64 + 0.5).sincospi(), (1.0, 0.0));
        assert_eq!(8.0_f64.rcbrt(), 0.5);
    }

    #[test]
    fn inverses_invert() {
        for y in [
            1e-300_f64, 1e-20, 1e-3, 0.3, 0.5, 0.7, 0.999, 1.0, 1.001, 1.5, 1.999,
        ] {
            let x = FloatExt::inv_complementary_error_function(y);
            // The argument's own rounding error appears in the result, multiplied by the slope.
            let tolerance = 1e-14 * (1.0 + 2.0 * x * x) * y;
            assert!(
                (x.complementary_error_function() - y).abs() <= tolerance,
                "{y:e}"
            );
        }
        assert_eq!(FloatExt::inv_norm_cdf(0.5_f64), 0.0);
        assert_eq!(FloatExt::inv_norm_cdf(0.0_f32), f32::NEG_INFINITY);
        assert!(FloatExt::inv_complementary_error_function(-1.0_f64).is_nan());
    }

    #[test]
    fn exponents_and_saturation_at_the_edges() {
        assert_eq!(12.0_f32.frexp(), (0.75, 4));
        assert_eq!(f64::INFINITY.frexp(), (f64::INFINITY, 0));
        assert_eq!(
            [0.0, f64::INFINITY, 1e-310].map(FloatExt::unbiased_exp),
            [i32::MIN, i32::MAX, -1030]
        );
        assert_eq!(
            [f32::NAN, -1.0, 0.25, 2.0].map(FloatExt::saturate),
            [0.0, 0.0, 0.25, 1.0]
        );
    }
}
