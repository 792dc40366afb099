//! `a * b + c` in double precision, rounded once in any direction; the host has no instruction for
//! it.

use super::rounding::{DOWN, UP};

/// Top bit of an intermediate significand: room for a carry above, and guard bits below a double's
/// precision.
const TOP: u32 = 125;

/// A positive number: `significand * 2^exponent`, its top bit at [`TOP`].
#[derive(Clone, Copy)]
struct Scaled {
    significand: u128,
    exponent: i32,
}

impl Scaled {
    fn new(significand: u128, exponent: i32) -> Self {
        let shift = significand.leading_zeros() as i32 - (127 - TOP) as i32;
        if shift < 0 {
            let number = Self {
                significand,
                exponent,
            };
            return Self {
                significand: number.at(exponent - shift),
                exponent: exponent - shift,
            };
        }
        Self {
            significand: significand << shift,
            exponent: exponent - shift,
        }
    }

    /// The magnitude of a finite, non-zero number.
    fn of(value: f64) -> Self {
        let bits = value.to_bits();
        let (field, fraction) = (bits >> 52 & 0x7ff, bits & ((1 << 52) - 1));
        let leading = u64::from(field > 0) << 52;
        Self::new(u128::from(leading | fraction), field.max(1) as i32 - 1075)
    }

    fn times(self, other: Self) -> Self {
        // A double has 53 bits, so the product of two fits.
        let low = TOP - 52;
        let product = (self.significand >> low) * (other.significand >> low);
        Self::new(product, self.exponent + other.exponent + 2 * low as i32)
    }

    /// The significand shifted to a larger exponent; lost bits are or-ed into the last bit
    /// (sticky).
    fn at(self, exponent: i32) -> u128 {
        let shift = (exponent - self.exponent).min(127) as u32;
        let lost = self.significand & ((1 << shift) - 1);
        self.significand >> shift | u128::from(lost != 0)
    }
}

/// `a * b + c`, rounded towards zero, down or up.
pub(super) fn multiply_add(a: f64, b: f64, c: f64, mode: u8) -> f64 {
    let nearest = a.mul_add(b, c);
    let finite = a.is_finite() && b.is_finite() && c.is_finite();
    if !finite || a == 0.0 || b == 0.0 {
        // Exact; only the sign of a zero sum depends on the direction.
        let product = a * b;
        let cancels = nearest == 0.0 && product.is_sign_negative() != c.is_sign_negative();
        return if finite && cancels && mode == DOWN {
            -0.0
        } else {
            nearest
        };
    }
    let negative_product = a.is_sign_negative() != b.is_sign_negative();
    let product = Scaled::of(a).times(Scaled::of(b));
    if c == 0.0 {
        return round(product, negative_product, mode);
    }
    let addend = Scaled::of(c);
    let exponent = product.exponent.max(addend.exponent);
    let signed = |number: Scaled, negative: bool| {
        let magnitude = number.at(exponent) as i128;
        if negative { -magnitude } else { magnitude }
    };
    let sum = signed(product, negative_product) + signed(addend, c.is_sign_negative());
    if sum == 0 {
        return if mode == DOWN { -0.0 } else { 0.0 };
    }
    round(Scaled::new(sum.unsigned_abs(), exponent), sum < 0, mode)
}

fn round(number: Scaled, negative: bool, mode: u8) -> f64 {
    // Weight of the last bit of a double with this top bit; higher for subnormals.
    let last = (number.exponent + TOP as i32 - 52).max(-1074);
    let shift = (last - number.exponent) as u32;
    let (kept, lost) = match shift {
        0..=127 => (
            number.significand >> shift,
            number.significand & ((1 << shift) - 1) != 0,
        ),
        _ => (0, true),
    };
    let away = match mode {
        UP => !negative,
        DOWN => negative,
        _ => false,
    };
    let significand = kept as u64 + u64::from(away && lost);
    // A carry into the next power of two needs no special case.
    let field = (last + 1074) as u64;
    let bits = (field << 52) + significand;
    let largest = f64::MAX.to_bits();
    let magnitude = match bits {
        0..=0x7fef_ffff_ffff_ffff => bits,
        _ if away => f64::INFINITY.to_bits(),
        _ => largest,
    };
    f64::from_bits(magnitude | u64::from(negative) << 63)
}

#[cfg(test)]
mod tests {
    use super::super::rounding::ZERO;
    use super::*;

    #[track_caller]
    fn check([a, b, c]: [f64; 3], [zero, down, up]: [f64; 3]) {
        for (mode, expected) in [(ZERO, zero), (DOWN, down), (UP, up)] {
            let result = multiply_add(a, b, c, mode);
            assert_eq!(
                result.to_bits(),
                expected.to_bits(),
                "{a} * {b} + {c} in {mode}"
            );
        }
    }

    #[test]
    fn results_are_rounded_once_in_the_direction_asked_for() {
        let (tiny, above) = (f64::from_bits(1), 1.0_f64.next_up());
        check([1.0, 1.0, 1e-300], [1.0, 1.0, above]);
        check([-1.0, 1.0, -1e-300], [-1.0, -above, -1.0]);
        check(
            [1.0, 1.0, -1e-300],
            [1.0_f64.next_down(), 1.0_f64.next_down(), 1.0],
        );
        check(
            [above, above, 0.0],
            [
                1.0 + 2.0 * f64::EPSILON,
                1.0 + 2.0 * f64::EPSILON,
                1.0 + 3.0 * f64::EPSILON,
            ],
        );
        check([tiny, 0.5, 0.0], [0.0, 0.0, tiny]);
        check([tiny, -0.5, 0.0], [-0.0, -tiny, -0.0]);
        check([f64::MAX, 2.0, 0.0], [f64::MAX, f64::MAX, f64::INFINITY]);
    }

    #[test]
    fn exact_results_have_no_direction_but_zeros_do() {
        check([3.0, 5.0, -14.0], [1.0; 3]);
        check([3.0, 5.0, -15.0], [0.0, -0.0, 0.0]);
        check([0.0, 5.0, -0.0], [0.0, -0.0, 0.0]);
        check([f64::INFINITY, 2.0, -1.0], [f64::INFINITY; 3]);
    }
}
