//! The types in which sums are added: they have more precision than the elements. The result is
//! rounded once, at the end.
//!
//! | elements | within a launch: threads, blocks, the grid | between blocks, chunks and ranks |
//! | --- | --- | --- |
//! | `f32` (`f16` files are read as such) | `f64`; products are exact | [`Twofold`] |
//! | `f64` | [`Twofold`]; products in two terms by fma | [`Twofold`] |
//! | `i64`, `u64` | their own type, which wraps | their own type |
//!
//! The kernels wait for memory, so this costs next to nothing: an `f32` needs a conversion and an
//! addition of `f64`. An H200 delivers five elements per clock to each multiprocessor, which can
//! convert 16 and add 64. Two terms of `f32` would serve GPUs with few units for `f64`, but they
//! have 48 bits where `f64` has 53, and take six times the instructions.
//!
//! # The error
//!
//! Let u = 2⁻⁵³, S the exact sum and h the number of additions on the longest path of any element
//! to the result.
//!
//! - In `f64` each addition is off by at most u of its result, so the sum by at most γₕ·Σ|x| with
//!   γₕ = h·u / (1 − h·u), whatever the shape of the tree (Higham, *Accuracy and Stability of
//!   Numerical Algorithms*, 2nd ed., section 4.2). The launcher's default grid keeps h ≤ 2¹² for
//!   any length, whole and along an axis: 2⁻⁴¹·Σ|x|. With Σ|x| ≤ 2¹⁶·|S| that is
//!   2⁻²⁵·|S|, half a unit in the last place of an `f32` at most. The final rounding adds at most
//!   another half: never more than one unit.
//! - In two terms `sum` is the plain sum in `f64`, and `rest` the sum of its rounding errors, which
//!   [`two_sum`](super::partial::two_sum) gives exactly. The errors add up to at most γₕ·Σ|x|, and `rest` is off by at most
//!   γ₂ₕ of that: 2·h²·u²·Σ|x| = 2⁻⁸⁰·Σ|x|. With Σ|x| ≤ 2¹⁶·|S| that is 2⁻¹¹ of half a unit in the
//!   last place of an `f64`.
//! - A block's last sums in two terms are divided at one place each, so that the upper parts add up
//!   exactly: see [`Partial::of_warp`]. What is added then is below 2⁻⁴²·Σ|x| and is off by at most
//!   2⁻⁸⁵·Σ|x|.
//! - Blocks of few elements add in another way, off by at most 2⁻⁸⁰·Σ|x| too:
//!   [`anchored`](super::anchored).
//! - Totals are kept with |rest| ≤ u·|sum|, so each one that is merged adds at most 3·u²
//!   (Joldes, Muller, Popescu, *Tight and rigorous error bounds for basic building blocks of
//!   double-word arithmetic*, 2017), for any number of chunks.
//!
//! So the result is correctly rounded unless S lies within this error of the middle between two
//! neighbouring numbers; else it is one of these two.
//!
//! An infinity or NaN gives the result of IEEE additions. Sums of `f32` cannot overflow on the way.
//! Those of `f64` do if a partial sum exceeds the range, as any sum in `f64`; products of `f64`
//! below 2⁻⁹⁶⁹ lose their part below 2⁻¹⁰⁷⁴.

use cuda_std::GpuFloat;

use super::anchored::{Anchored, AnchoredSum};
use super::partial::{Partial, Twofold, two_product};
use crate::number::Scalar;

/// The most additions between an element and the result in the default launches, not counting those
/// of totals.
pub const PATH: usize = 1 << 12;

/// An element of sums.
pub trait Addend: Scalar {
    /// The type in which a thread, its block and its launch add.
    type Partial: Partial;
    /// A faster way to add a few elements, if there is one.
    type Anchored: Anchored<Self, Self::Partial>;
    /// Sums that a thread keeps; the lanes of its packs use them in turn. Two of `f32`, or one of
    /// `f64`, leave room for the packs in flight in the 32 registers with which two blocks of 1024
    /// threads fit.
    const SUMS: usize;
    /// Whether two lanes are added first, which halves the chain of additions.
    const PAIRS: bool;
    /// `sum + self`.
    fn add_to(self, sum: Self::Partial) -> Self::Partial;
    /// `sum + self · factor`.
    fn mul_add_to(self, factor: Self, sum: Self::Partial) -> Self::Partial;
    /// The total, rounded to this type.
    fn rounded(total: TotalOf<Self>) -> Self;
    /// The sum, rounded.
    fn of_sum(sum: Self::Partial) -> Self;
    /// The total divided by a number of terms, rounded once; of integers towards zero.
    fn mean(total: TotalOf<Self>, count: u64) -> Self;
    /// The sum of `self` alone.
    fn partial(self) -> Self::Partial;
    /// The element whose sum `partial` is.
    fn of_partial(partial: Self::Partial) -> Self;
    /// `self` as a total.
    fn total(self) -> TotalOf<Self> {
        self.partial().settle()
    }
}

/// The type in which blocks, chunks and ranks of `T` are added.
pub type TotalOf<T> = <<T as Addend>::Partial as Partial>::Total;

impl Addend for f32 {
    type Partial = f64;
    type Anchored = ();
    const SUMS: usize = 2;
    const PAIRS: bool = true;

    #[inline(always)]
    fn add_to(self, sum: f64) -> f64 {
        sum + f64::from(self)
    }

    #[inline(always)]
    fn mul_add_to(self, factor: Self, sum: f64) -> f64 {
        GpuFloat::mul_add(f64::from(self), f64::from(factor), sum)
    }

    #[inline(always)]
    fn rounded(total: Twofold) -> Self {
        total.settle().to_odd() as Self
    }

    #[inline(always)]
    fn of_sum(sum: f64) -> Self {
        sum as Self
    }

    #[inline(always)]
    fn mean(total: Twofold, count: u64) -> Self {
        Self::rounded(total.over(count))
    }

    #[inline(always)]
    fn partial(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn of_partial(partial: f64) -> Self {
        partial as Self
    }
}

impl Addend for f64 {
    type Partial = Twofold;
    type Anchored = AnchoredSum;
    const SUMS: usize = 1;
    const PAIRS: bool = false;

    #[inline(always)]
    fn add_to(self, sum: Twofold) -> Twofold {
        sum.plus(self)
    }

    #[inline(always)]
    fn mul_add_to(self, factor: Self, sum: Twofold) -> Twofold {
        let (product, error) = two_product(self, factor);
        sum.add(product, error)
    }

    #[inline(always)]
    fn rounded(total: Twofold) -> Self {
        total.settle().sum
    }

    #[inline(always)]
    fn of_sum(sum: Twofold) -> Self {
        Self::rounded(sum.settle())
    }

    #[inline(always)]
    fn mean(total: Twofold, count: u64) -> Self {
        Self::rounded(total.over(count))
    }

    #[inline(always)]
    fn partial(self) -> Twofold {
        Twofold::new(self)
    }

    #[inline(always)]
    fn of_partial(partial: Twofold) -> Self {
        partial.sum
    }
}

macro_rules! integers {
    ($($t:ident)*) => {$(
        impl Addend for $t {
            type Partial = Self;
            type Anchored = ();
            const SUMS: usize = 2;
            const PAIRS: bool = false;

            #[inline(always)]
            fn add_to(self, sum: Self) -> Self {
                sum.wrapping_add(self)
            }

            #[inline(always)]
            fn mul_add_to(self, factor: Self, sum: Self) -> Self {
                Scalar::mul_add(self, factor, sum)
            }

            #[inline(always)]
            fn rounded(total: Self) -> Self {
                total
            }

            #[inline(always)]
            fn of_sum(sum: Self) -> Self {
                sum
            }

            #[inline(always)]
            fn mean(total: Self, count: u64) -> Self {
                total.checked_div(count as Self).unwrap_or(0)
            }

            #[inline(always)]
            fn partial(self) -> Self {
                self
            }

            #[inline(always)]
            fn of_partial(partial: Self) -> Self {
                partial
            }
        }
    )*};
}
integers!(i64 u64);

#[cfg(test)]
mod tests {
    use super::super::partial::{Partial, Twofold, merge_totals, two_product, two_sum};
    use super::Addend;

    #[test]
    fn what_a_rounding_loses_is_kept() {
        assert_eq!(two_sum(1e16, 1.0), (1e16, 1.0));
        assert_eq!(two_sum(1.0, 1e16), (1e16, 1.0));
        let third = 1.0 / 3.0;
        let (product, error) = two_product(third, third);
        // third² has at most 106 bits: the error fits one number.
        assert_eq!(error, third.mul_add(third, -product));
        assert_ne!(error, 0.0);
        let sum = [1e100, 1.0, -1e100].map(f64::total);
        let sum = sum.into_iter().reduce(merge_totals);
        assert_eq!(sum.map(f64::rounded), Some(1.0));
    }

    /// 1 + 2⁻²⁴ lies in the middle between two `f32`; the rest decides.
    #[test]
    fn a_total_is_rounded_once() {
        let middle = 1.0 + f64::from(2.0_f32.powi(-24));
        let next = 1.0 + f32::EPSILON;
        for (rest, rounded) in [(0.0, 1.0), (1e-30, next), (-1e-30, 1.0)] {
            for sign in [1.0, -1.0] {
                let total = Twofold {
                    sum: sign * middle,
                    rest: sign * rest,
                };
                assert_eq!(f32::rounded(total), sign as f32 * rounded, "{total:?}");
            }
        }
        // The lower neighbour of a power of two is half as far away.
        let below = Twofold {
            sum: 1.0,
            rest: -1e-30,
        };
        assert_eq!(f32::rounded(below), 1.0);
        assert!(below.to_odd() < 1.0);
    }

    /// One division and its corrections give what two divisions do.
    #[test]
    fn quotients_are_rounded_as_divisions_are() {
        let mut state = 1_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let counts = [0, 1, 2, 3, 5, 7, 1000, 4_294_967_295, (1 << 50) - 1];
        for round in 0..100_000 {
            let count = match counts.get(round % 10) {
                Some(&count) => count,
                None => next() >> (14 + next() % 50),
            };
            let by = count as f64;
            let total = match round % 7 {
                // The middle between two quotients.
                0 => {
                    let quotient = 1.0 + (next() >> 12) as f64 * f64::EPSILON;
                    let (sum, rest) = two_product(quotient, by);
                    let rest = rest + f64::EPSILON / 2.0 * by;
                    Twofold { sum, rest }.settle()
                }
                1 => Twofold::new([f64::INFINITY, f64::NAN, f64::MAX, 0.0][round / 7 % 4]),
                // Of any exponent but the least.
                _ => {
                    let exponent = next() % 1900 + 146;
                    let sum = f64::from_bits(exponent << 52 | next() >> 12 | next() << 63);
                    let rest = (next() >> 11) as f64 / (1_u64 << 54) as f64 - 0.25;
                    let rest = sum * f64::EPSILON * rest;
                    Twofold { sum, rest }
                }
            };
            let sum = total.sum / by;
            let rest = ((-sum).mul_add(by, total.sum) + total.rest) / by;
            let quotient = total.over(count);
            let is_same = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
            let is_right = is_same(quotient.sum, sum) && is_same(quotient.rest, rest);
            assert!(
                is_right,
                "{total:?} / {count}: {quotient:?}, {sum:e} and {rest:e}"
            );
        }
    }

    #[test]
    fn infinities_and_nan_are_those_of_plain_sums() {
        let infinite = |values: &[f64]| {
            let partial = values.iter().fold(Twofold::ZERO, |sum, x| x.add_to(sum));
            let totals = values.iter().map(|x| x.total());
            let folded = totals.reduce(merge_totals).map(f64::rounded);
            let rounded = f64::rounded(partial);
            assert_eq!(folded.map(f64::to_bits), Some(rounded.to_bits()));
            rounded
        };
        let large = f64::MAX;
        assert_eq!(infinite(&[1.0, f64::INFINITY, -2.0]), f64::INFINITY);
        assert_eq!(infinite(&[large, large, -large]), f64::INFINITY);
        assert_eq!(infinite(&[-large, -large]), f64::NEG_INFINITY);
        assert_eq!(infinite(&[large, -large, 3.0]), 3.0);
        let both = [f64::INFINITY, f64::NEG_INFINITY].map(f64::total);
        assert!(f64::rounded(merge_totals(both[0], both[1])).is_nan());
        assert!(f64::rounded(f64::NAN.add_to(1.0.total())).is_nan());
        let product = large.mul_add_to(2.0, Twofold::ZERO);
        assert_eq!(f64::rounded(1.0.mul_add_to(1.0, product)), f64::INFINITY);
        // Partial sums leave the narrower type's range and return.
        let wide = [f32::MAX, f32::MAX, -f32::MAX].map(f32::total);
        let sum = wide.into_iter().reduce(merge_totals);
        assert_eq!(sum.map(f32::rounded), Some(f32::MAX));
        let twice = merge_totals(f32::MAX.total(), f32::MAX.total());
        assert_eq!(f32::rounded(twice), f32::INFINITY);
    }

    /// As NumPy: a sum starts at +0.
    #[test]
    fn zeros_are_positive() {
        for zero in [(-0.0_f64).add_to(Twofold::ZERO), Twofold::ZERO] {
            assert_eq!(f64::rounded(zero).to_bits(), 0);
        }
        let zero = (-0.0_f32).add_to(Partial::ZERO).settle();
        assert_eq!(f32::rounded(zero).to_bits(), 0);
    }
}
