//! Exact sums of numbers and products, for references independent of the kernels' arithmetic.

use super::Precision;

/// Value bits of a limb; the rest of its 64 bits collects carries.
const BITS: usize = 32;
/// The exponent of the lowest bit: that of the product of the two smallest `f64`.
const LOWEST: i32 = -2 * 1074;
/// From the lowest bit to the largest products, plus 64 bits for the number of terms.
const LIMBS: usize = (2 * 1074 + 2 * 1024 + 64) / BITS + 1;

/// A sum of `f64` and of products of two, as a fixed-point number that holds every bit.
#[derive(Clone, Debug)]
pub struct Exact {
    limbs: [i64; LIMBS],
    /// Additions since the carries were propagated.
    pending: u32,
    /// The sum of the infinite and NaN terms; 0 if there are none.
    special: f64,
    magnitude: f64,
    terms: usize,
}

impl Default for Exact {
    fn default() -> Self {
        Self {
            limbs: [0; LIMBS],
            pending: 0,
            special: 0.0,
            magnitude: 0.0,
            terms: 0,
        }
    }
}

/// The magnitude as an integer, and its exponent.
fn integer(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7FF) as i32, bits & ((1 << 52) - 1));
    match exponent {
        0 => (fraction, -1074),
        _ => (fraction | 1 << 52, exponent - 1075),
    }
}

/// 2 to a power within the range of `f64`.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(match exponent {
        -1022.. => ((exponent + 1023) as u64) << 52,
        _ => 1 << (exponent + 1074),
    })
}

impl Exact {
    /// Adds a number.
    pub fn add(&mut self, value: f64) {
        self.add_product(value, 1.0);
    }

    /// Adds the product of two numbers.
    pub fn add_product(&mut self, a: f64, b: f64) {
        self.terms += 1;
        self.magnitude += (a * b).abs();
        if !(a.is_finite() && b.is_finite()) {
            self.special += a * b;
            return;
        }
        let ((a_integer, a_exponent), (b_integer, b_exponent)) = (integer(a), integer(b));
        let mut product = u128::from(a_integer) * u128::from(b_integer);
        let place = (a_exponent + b_exponent - LOWEST) as usize;
        let (mut limb, shift) = (place / BITS, place % BITS);
        let sign = if a.is_sign_negative() == b.is_sign_negative() {
            1
        } else {
            -1
        };
        while product > 0 {
            let digit = (product as u32 as u64) << shift;
            self.limbs[limb] += sign * i64::from(digit as u32);
            self.limbs[limb + 1] += sign * (digit >> BITS) as i64;
            product >>= BITS;
            limb += 1;
        }
        // Each addition changes a limb by less than 2³³.
        self.pending += 1;
        if self.pending == 1 << 29 {
            self.carry();
        }
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        let mut other = other.clone();
        other.carry();
        self.carry();
        for (limb, more) in self.limbs.iter_mut().zip(other.limbs) {
            *limb += more;
        }
        self.special += other.special;
        self.magnitude += other.magnitude;
        self.terms += other.terms;
    }

    /// Reduces all limbs to 32 bits except the last, which has the sign.
    fn carry(&mut self) {
        self.pending = 1;
        let mut carry = 0;
        for limb in &mut self.limbs[..LIMBS - 1] {
            let sum = *limb + carry;
            *limb = i64::from(sum as u32);
            carry = sum >> BITS;
        }
        self.limbs[LIMBS - 1] += carry;
    }

    /// The nearest number of a type, rounded once.
    pub fn nearest<T: Precision>(&self) -> T {
        if self.special != 0.0 {
            return T::nearest(self.special);
        }
        // Bits of a number, and the exponent of the smallest.
        let precision = -T::UNIT_ROUNDOFF.log2() as i32;
        let smallest = T::SMALLEST.log2().round() as i32;
        let mut sum = self.clone();
        sum.carry();
        let negative = sum.limbs[LIMBS - 1] < 0;
        if negative {
            sum.limbs = sum.limbs.map(|limb| -limb);
            sum.carry();
        }
        let Some(top) = sum.limbs.iter().rposition(|&limb| limb != 0) else {
            return T::nearest(0.0);
        };
        // The highest limbs, which have more bits than any type; whether any lower bit is set; and
        // the lowest one's exponent.
        let from = top.saturating_sub(2);
        let head = (sum.limbs[from..=top].iter().rev())
            .fold(0_u128, |head, &limb| head << BITS | limb as u128);
        let below = sum.limbs[..from].iter().any(|&limb| limb != 0);
        let exponent = LOWEST + (from * BITS) as i32;

        // The exponent of the result's last place.
        let bits = 128 - head.leading_zeros() as i32;
        let last = exponent.max(exponent + bits - precision).max(smallest);
        let rounded = match last - exponent {
            0 => head,
            dropped @ ..=127 => {
                let (kept, half) = (head >> dropped, 1_u128 << (dropped - 1));
                let rest = head & (2 * half - 1);
                let up = rest > half || rest == half && (below || kept & 1 == 1);
                kept + u128::from(up)
            }
            // Less than half of the smallest number.
            _ => 0,
        };
        // No more bits than the type has: exact.
        let magnitude = match last {
            ..=971 => rounded as f64 * power_of_two(last),
            _ => f64::INFINITY,
        };
        T::nearest(if negative { -magnitude } else { magnitude })
    }

    /// The sum of the terms' magnitudes, up to rounding; finite unless a term is not.
    pub fn magnitude(&self) -> f64 {
        match self.special == 0.0 {
            true => self.magnitude.min(f64::MAX),
            false => self.magnitude,
        }
    }

    /// The sum of magnitudes over the magnitude of the sum. Infinite if the sum cancels to 0, 1 if
    /// all terms are 0.
    pub fn condition(&self) -> f64 {
        match self.magnitude() {
            0.0 => 1.0,
            magnitude => magnitude / self.nearest::<f64>().abs(),
        }
    }

    /// The number of terms.
    pub fn terms(&self) -> usize {
        self.terms
    }
}

#[cfg(test)]
mod tests {
    use super::Exact;

    fn sum(values: &[f64]) -> Exact {
        let mut sum = Exact::default();
        values.iter().for_each(|&value| sum.add(value));
        sum
    }

    #[test]
    fn every_bit_is_kept() {
        assert_eq!(
            sum(&[1e300, 1.0, 5e-324, -1e300, -1.0]).nearest::<f64>(),
            5e-324
        );
        assert_eq!(sum(&[]).nearest::<f64>().to_bits(), 0);
        assert_eq!(sum(&[0.1; 10]).nearest::<f64>(), 1.0);
        assert_eq!(
            sum(&[f64::MAX, f64::MAX, -f64::MAX]).nearest::<f64>(),
            f64::MAX
        );
        assert_eq!(
            sum(&[-f64::MAX, -f64::MAX]).nearest::<f64>(),
            f64::NEG_INFINITY
        );
        let mut product = Exact::default();
        product.add_product(1.0 + f64::EPSILON, 1.0 - f64::EPSILON);
        product.add(-1.0);
        assert_eq!(product.nearest::<f64>(), -f64::EPSILON * f64::EPSILON);
        product.add_product(5e-324, 5e-324);
        assert_eq!(product.nearest::<f64>(), -f64::EPSILON * f64::EPSILON);
        product.add_product(f64::EPSILON, f64::EPSILON);
        assert_eq!(product.nearest::<f64>(), 0.0);
        assert!(product.condition().is_infinite());
    }

    /// Single numbers, and pairs whose sum IEEE rounds, of every exponent.
    #[test]
    fn numbers_and_pairs_round_as_ieee_sums_do() {
        let mut bits = 0x9E37_79B9_7F4A_7C15_u64;
        for _ in 0..20_000 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let a = f64::from_bits(bits.rotate_left(17));
            let near = (a.to_bits() & !(0xFF << 44)) | (bits >> 7 & 0xFF) << 44;
            let b = f64::from_bits(near ^ (bits & 1) << 63);
            if !(a.is_finite() && b.is_finite()) {
                continue;
            }
            assert_eq!(sum(&[a]).nearest::<f64>().to_bits(), (a + 0.0).to_bits());
            assert_eq!(sum(&[a, b]).nearest::<f64>(), a + b, "{a:e} + {b:e}");
            let of_f32 = f32::from_bits(bits as u32);
            let narrow = f64::from_bits(
                (a.to_bits() >> 63 << 63) | (1023 - 155 + (bits >> 40) % 300) << 52 | bits >> 12,
            );
            assert_eq!(sum(&[narrow]).nearest::<f32>(), narrow as f32, "{narrow:e}");
            if of_f32.is_finite() {
                assert_eq!(sum(&[of_f32.into()]).nearest::<f32>(), of_f32);
            }
        }
    }

    /// 1 + 2⁻²⁴ is halfway between two `f32`, and rounds to the even one, unless anything is added.
    #[test]
    fn a_sum_is_rounded_once() {
        let middle = 1.0 + 0.5_f64.powi(24);
        assert_eq!(sum(&[middle]).nearest::<f32>(), 1.0);
        assert_eq!(sum(&[middle, 1e-200]).nearest::<f32>(), 1.0 + f32::EPSILON);
        assert_eq!(sum(&[middle, -1e-200]).nearest::<f32>(), 1.0);
    }

    #[test]
    fn infinities_and_nan_are_those_of_ieee_sums() {
        assert_eq!(sum(&[1.0, f64::INFINITY]).nearest::<f32>(), f32::INFINITY);
        let both = sum(&[f64::NEG_INFINITY, f64::INFINITY]);
        assert!(both.nearest::<f64>().is_nan());
        assert!(sum(&[1.0, f64::NAN]).nearest::<f64>().is_nan());
    }

    #[test]
    fn parts_merge_into_the_whole() {
        let values: Vec<f64> = (0..1000)
            .map(|i| (f64::from(i) * 0.7).sin() * 1e10_f64.powi(i % 7))
            .collect();
        let mut merged = sum(&values[..311]);
        merged.merge(&sum(&values[311..]));
        let whole = sum(&values);
        assert_eq!(merged.nearest::<f64>(), whole.nearest::<f64>());
        assert_eq!(merged.terms(), whole.terms());
        assert!((merged.magnitude() / whole.magnitude() - 1.0).abs() < 1e-12);
    }
}
