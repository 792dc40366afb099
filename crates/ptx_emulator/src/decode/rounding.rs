//! Rounding that the host has no instructions for: towards zero, down, up, and to narrower formats.
//!
//! A value is the nearest double plus the sign of its error (`tail`), so that nothing is rounded
//! twice.

use std::cmp::Ordering;

pub(super) const NEAREST: u8 = 0;
pub(super) const ZERO: u8 = 1;
pub(super) const DOWN: u8 = 2;
pub(super) const UP: u8 = 3;
pub(super) const NEAREST_AWAY: u8 = 4;

/// The NaN that 32-bit float instructions produce.
pub(super) const NAN32: u32 = 0x7fff_ffff;

pub(super) fn canonical(value: f32) -> f32 {
    if value.is_nan() {
        f32::from_bits(NAN32)
    } else {
        value
    }
}

pub(super) fn flush(value: f32) -> f32 {
    if value.is_subnormal() {
        0.0_f32.copysign(value)
    } else {
        value
    }
}

/// `a + b` and the rounding error, which is exact unless the sum overflows.
pub(super) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// The sum of two doubles rounded to a float.
pub(super) fn sum32(a: f64, b: f64, mode: u8) -> f32 {
    let (sum, tail) = two_sum(a, b);
    if sum == 0.0 && mode & !FLUSH == DOWN && (a.is_sign_negative() || b.is_sign_negative()) {
        return -0.0;
    }
    to_f32(sum, tail, mode)
}

/// The sum of two doubles, rounded.
pub(super) fn sum64(a: f64, b: f64, mode: u8) -> f64 {
    let (sum, tail) = two_sum(a, b);
    if sum == 0.0 && mode == DOWN && (a.is_sign_negative() || b.is_sign_negative()) {
        return -0.0;
    }
    if sum.is_infinite() && a.is_finite() && b.is_finite() {
        return directed64(sum, -sum, mode);
    }
    directed64(sum, tail, mode)
}

/// Flag on a mode: subnormal results become zeros.
pub(super) const FLUSH: u8 = 8;

/// Whether the result remains subnormal when its 24 bits are rounded with an unbounded exponent.
fn is_tiny(value: f64, tail: f64, mode: u8) -> bool {
    let (magnitude, tail) = (value.abs(), tail * 1.0_f64.copysign(value));
    let order = |part: f64| exact_order(magnitude, tail, f64::from(f32::MIN_POSITIVE) * part);
    match mode {
        // A tie rounds to the even number, which is normal.
        NEAREST => order(1.0 - 2.0_f64.powi(-25)) == Ordering::Less,
        // Away from zero: everything above the largest subnormal becomes the smallest normal.
        UP if value > 0.0 => order(1.0 - 2.0_f64.powi(-24)) != Ordering::Greater,
        DOWN if value < 0.0 => order(1.0 - 2.0_f64.powi(-24)) != Ordering::Greater,
        _ => order(1.0) == Ordering::Less,
    }
}

/// Rounds `value + tail` to a float. Rounding to nearest ignores `tail`.
pub(super) fn to_f32(value: f64, tail: f64, mode: u8) -> f32 {
    if mode & FLUSH != 0 && is_tiny(value, tail, mode & !FLUSH) {
        return 0.0_f32.copysign(value as f32);
    }
    let mode = mode & !FLUSH;
    let nearest = value as f32;
    let above = exact_order(value, tail, f64::from(nearest));
    canonical(match (mode, above) {
        (DOWN, Ordering::Less) => nearest.next_down(),
        (UP, Ordering::Greater) => nearest.next_up(),
        (ZERO, Ordering::Less) if nearest > 0.0 => nearest.next_down(),
        (ZERO, Ordering::Greater) if nearest < 0.0 => nearest.next_up(),
        _ => nearest,
    })
}

/// Adjusts a result rounded to nearest, with the sign of its error, to the requested mode.
pub(super) fn directed64(nearest: f64, tail: f64, mode: u8) -> f64 {
    match (mode, exact_order(nearest, tail, nearest)) {
        (DOWN, Ordering::Less) => nearest.next_down(),
        (UP, Ordering::Greater) => nearest.next_up(),
        (ZERO, Ordering::Less) if nearest > 0.0 => nearest.next_down(),
        (ZERO, Ordering::Greater) if nearest < 0.0 => nearest.next_up(),
        _ => nearest,
    }
}

/// Compares `value + tail` with `other`. NaN compares equal, so that it never adjusts a result.
fn exact_order(value: f64, tail: f64, other: f64) -> Ordering {
    let order = value.partial_cmp(&other).unwrap_or(Ordering::Equal);
    order.then(tail.partial_cmp(&0.0).unwrap_or(Ordering::Equal))
}

/// The quotient and the sign of its error.
pub(super) fn quotient(a: f64, b: f64) -> (f64, f64) {
    let q = a / b;
    if q == 0.0 && a != 0.0 && b.is_finite() {
        return (q, 1.0_f64.copysign(q));
    }
    if q.is_infinite() && a.is_finite() && b != 0.0 {
        return (q, -q);
    }
    // Tiny operands are scaled so that the remainder does not underflow.
    let scale = if a.abs() < 1e-270 {
        2.0_f64.powi(300)
    } else {
        1.0
    };
    let remainder = (-q).mul_add(b * scale, a * scale);
    (q, remainder * 1.0_f64.copysign(b))
}

/// The square root and the sign of its error.
pub(super) fn root(a: f64) -> (f64, f64) {
    let q = a.sqrt();
    let (scale, half) = if a < 1e-270 {
        (2.0_f64.powi(300), 2.0_f64.powi(150))
    } else {
        (1.0, 1.0)
    };
    (q, (-q * half).mul_add(q * half, a * scale))
}

/// A binary float format with an implicit leading one.
#[derive(Clone, Copy)]
pub(super) struct Format {
    pub(super) mantissa: u32,
    pub(super) exponent: u32,
    pub(super) nan: u32,
}

pub(super) const F16: Format = Format {
    mantissa: 10,
    exponent: 5,
    nan: 0x7fff,
};
pub(super) const BF16: Format = Format {
    mantissa: 7,
    exponent: 8,
    nan: 0x7fff,
};
/// The upper 19 bits of a float.
pub(super) const TF32: Format = Format {
    mantissa: 10,
    exponent: 8,
    nan: 0x3_ffff,
};

impl Format {
    /// The bits of `value + tail`, rounded once.
    pub(super) fn encode(self, value: f64, tail: f64, mode: u8) -> u32 {
        if value.is_nan() {
            return self.nan;
        }
        let sign = u32::from(value.is_sign_negative()) << (self.mantissa + self.exponent);
        let infinity = ((1 << self.exponent) - 1) << self.mantissa;
        if value.is_infinite() {
            return sign | infinity;
        }
        let bits = self.round(value, tail, mode);
        if bits < infinity {
            return sign | bits;
        }
        let stays_finite = match mode {
            ZERO => true,
            DOWN => sign == 0,
            UP => sign != 0,
            _ => false,
        };
        sign | if stays_finite { infinity - 1 } else { infinity }
    }

    /// The magnitude bits of `value + tail`, rounded with an unbounded exponent.
    pub(super) fn round(self, value: f64, tail: f64, mode: u8) -> u32 {
        let negative = value.is_sign_negative();
        let lowest = 2 - (1 << (self.exponent - 1));
        let magnitude = value.abs();
        let tail = if negative { -tail } else { tail };
        let exponent = (((magnitude.to_bits() >> 52) as i32) - 1023).max(lowest);
        let steps = magnitude * 2.0_f64.powi(self.mantissa as i32 - exponent);
        let down = steps.floor();
        let middle = exact_order(steps - down, tail, 0.5);
        let inexact = exact_order(steps - down, tail, 0.0);
        let mut count = down as u32;
        if inexact == Ordering::Less {
            // Just below a whole step.
            count -= 1;
        }
        let odd = count & 1 == 1;
        let round_up = match mode {
            NEAREST => {
                middle == Ordering::Greater
                    || (middle == Ordering::Equal && odd)
                    || inexact == Ordering::Less
            }
            NEAREST_AWAY => middle != Ordering::Less || inexact == Ordering::Less,
            UP => inexact != Ordering::Equal && !negative,
            DOWN => inexact != Ordering::Equal && negative,
            _ => false,
        };
        (((exponent - lowest) as u32) << self.mantissa) + count + u32::from(round_up)
    }

    /// The exact value of an encoding.
    pub(super) fn decode(self, bits: u32) -> f64 {
        let fraction = bits & ((1 << self.mantissa) - 1);
        let exponent = (bits >> self.mantissa) & ((1 << self.exponent) - 1);
        let lowest = 2 - (1 << (self.exponent - 1));
        let magnitude = if exponent == (1 << self.exponent) - 1 {
            if fraction == 0 {
                f64::INFINITY
            } else {
                f64::NAN
            }
        } else if exponent == 0 {
            f64::from(fraction) * 2.0_f64.powi(lowest - self.mantissa as i32)
        } else {
            f64::from(fraction | 1 << self.mantissa)
                * 2.0_f64.powi(lowest + exponent as i32 - 1 - self.mantissa as i32)
        };
        if bits >> (self.mantissa + self.exponent) & 1 == 1 {
            -magnitude
        } else {
            magnitude
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_survive_a_round_trip() {
        for bits in 0..0x1_0000_u32 {
            let value = F16.decode(bits);
            if !value.is_nan() {
                assert_eq!(F16.encode(value, 0.0, NEAREST), bits);
                assert_eq!(F16.encode(value, 0.0, ZERO), bits);
            }
        }
    }

    #[test]
    fn halves_round_once() {
        let one = 0x3c00;
        let tie = 1.0 + 2.0_f64.powi(-11);
        assert_eq!(F16.encode(tie, 0.0, NEAREST), one);
        assert_eq!(F16.encode(tie, 1e-300, NEAREST), one + 1);
        assert_eq!(F16.encode(tie, 0.0, NEAREST_AWAY), one + 1);
        assert_eq!(F16.encode(1.0, -1e-300, ZERO), one - 1);
        assert_eq!(F16.encode(1.0, -1e-300, NEAREST), one);
        assert_eq!(F16.encode(65_520.0, 0.0, NEAREST), 0x7c00);
        assert_eq!(F16.encode(65_520.0, 0.0, ZERO), 0x7bff);
        assert_eq!(F16.encode(-1e-10, 0.0, DOWN), 0x8001);
    }

    #[test]
    fn floats_round_as_asked() {
        let third = 1.0 / 3.0_f64;
        assert!(
            f64::from(to_f32(third, 0.0, DOWN)) < third
                && f64::from(to_f32(third, 0.0, UP)) > third
        );
        assert_eq!(to_f32(1e300, 0.0, ZERO), f32::MAX);
        assert_eq!(to_f32(-1e300, 0.0, UP), f32::MIN);
        assert_eq!(sum32(1.0, 1e-30, UP), 1.0_f32.next_up());
        assert_eq!(sum32(1.0, -1.0, DOWN).to_bits(), (-0.0_f32).to_bits());
        assert_eq!(sum64(f64::MAX, f64::MAX, ZERO), f64::MAX);
    }
}
