//! Correctly rounded values: for `f32` from double precision, for `f64` from 192 bits.

use std::cell::RefCell;

use astro_float_num::{BigFloat, Consts, RoundingMode, Sign};

/// Bits of a `BigFloat` here. Enough that a second rounding, to `f64`, is never the one that
/// counts.
const BITS: usize = 192;
const MODE: RoundingMode = RoundingMode::ToEven;

thread_local! {
    /// π and its like, which grow with the precision that was asked for.
    static CONSTANTS: RefCell<Consts> = RefCell::new(Consts::new().expect("memory for constants"));
}

/// A number of 192 bits with the operations that the functions need.
#[derive(Clone, Debug)]
pub(crate) struct Big(BigFloat);

macro_rules! with_constants {
    ($($name:ident)*) => {$(
        pub(crate) fn $name(&self) -> Self {
            CONSTANTS.with_borrow_mut(|constants| Big(self.0.$name(BITS, MODE, constants)))
        }
    )*};
}

macro_rules! operators {
    ($($name:ident)*) => {$(
        pub(crate) fn $name(&self, other: &Self) -> Self {
            Big(self.0.$name(&other.0, BITS, MODE))
        }
    )*};
}

impl Big {
    with_constants! { exp ln log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh }
    operators! { add sub mul div }

    pub(crate) fn cbrt(&self) -> Self {
        Big(self.0.cbrt(BITS, MODE))
    }

    pub(crate) fn sqrt(&self) -> Self {
        Big(self.0.sqrt(BITS, MODE))
    }

    pub(crate) fn pow(&self, exponent: &Self) -> Self {
        CONSTANTS.with_borrow_mut(|constants| Big(self.0.pow(&exponent.0, BITS, MODE, constants)))
    }

    pub(crate) fn pi() -> Self {
        CONSTANTS.with_borrow_mut(|constants| Big(constants.pi(BITS, MODE)))
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.0.is_negative()
    }

    /// Below 2⁻⁷⁰ in magnitude: there a series' second term is enough.
    pub(crate) fn is_tiny(&self) -> bool {
        self.0.exponent().is_some_and(|exponent| exponent < -70)
    }

    /// The nearest `f64`, ties to even, subnormal ones and overflow included.
    pub(crate) fn to_f64(&self) -> f64 {
        let Some((words, _, sign, exponent, _)) = self.0.as_raw_parts() else {
            return match (self.0.is_inf_pos(), self.0.is_inf_neg()) {
                (true, _) => f64::INFINITY,
                (_, true) => f64::NEG_INFINITY,
                _ => f64::NAN,
            };
        };
        // The value is 0.m · 2^exponent, the mantissa's highest bit set; words come lowest first.
        let Some((&high, rest)) = words.split_last().filter(|(high, _)| **high != 0) else {
            return 0.0;
        };
        let sticky = rest.iter().any(|&word| word != 0);
        let kept = (i64::from(exponent) + 1074).clamp(-1, 53) as u32 as i32;
        let magnitude = if kept < 0 {
            0.0
        } else {
            let dropped = 64 - kept as u32;
            let (mut whole, tail) = match dropped {
                64 => (0, high),
                _ => (high >> dropped, high << (64 - dropped)),
            };
            let half = 1_u64 << 63;
            if tail > half || (tail == half && (sticky || whole & 1 == 1)) {
                whole += 1;
            }
            scale(whole as f64, exponent - kept)
        };
        if sign == Sign::Neg {
            -magnitude
        } else {
            magnitude
        }
    }
}

/// `x · 2^exponent` for an `x` of at most 53 bits whose result needs no rounding.
fn scale(x: f64, exponent: i32) -> f64 {
    let halves = [exponent / 2, exponent - exponent / 2];
    halves.iter().fold(x, |x, &half| x * f64::powi(2.0, half))
}

impl From<f64> for Big {
    fn from(x: f64) -> Self {
        // The library halves subnormal ones, so they are made normal first.
        let lift = 2.0_f64.powi(if x.is_subnormal() { 100 } else { 0 });
        let lifted = BigFloat::from_f64(x * lift, BITS);
        Big(lifted.div(&BigFloat::from_f64(lift, BITS), BITS, MODE))
    }
}

#[cfg(test)]
mod tests {
    use super::Big;

    #[test]
    fn conversions_round_to_nearest_even() {
        let third = |x: f64| Big::from(x).div(&Big::from(3.0)).to_f64();
        for x in [1.0, -1.0, 1e-308, 5e-324, -7e-324, 1.7e308, 1e-310, 4e-322] {
            assert_eq!(third(x).to_bits(), (x / 3.0).to_bits(), "{x:e}");
            assert_eq!(Big::from(x).to_f64().to_bits(), x.to_bits(), "{x:e}");
        }
        let huge = Big::from(1.7e308).mul(&Big::from(2.0));
        assert_eq!(huge.to_f64(), f64::INFINITY);
        let ulp = Big::from(2.0_f64.powi(-53));
        assert_eq!(Big::from(1.0).add(&ulp).to_f64(), 1.0);
        assert_eq!(
            Big::from(1.0 + f64::EPSILON).add(&ulp).to_f64(),
            1.0 + 2.0 * f64::EPSILON
        );
    }

    #[test]
    fn functions_agree_with_std_to_the_last_digit_or_two() {
        for x in [0.1, 0.7, 3.0, 100.0, 1e22] {
            let close = |a: f64, b: f64| {
                assert!(
                    (a - b).abs() <= 2.0 * f64::EPSILON * b.abs(),
                    "{x}: {a:e}, {b:e}"
                )
            };
            close(Big::from(x).sin().to_f64(), x.sin());
            close(Big::from(x).ln().to_f64(), x.ln());
            close(Big::from(x).atan().to_f64(), x.atan());
            close(Big::from(x).pow(&Big::from(0.3)).to_f64(), x.powf(0.3));
        }
    }
}
