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
//!   [`two_sum`] gives exactly. The errors add up to at most γₕ·Σ|x|, and `rest` is off by at most
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
use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;
use cuda_std::warp::{WarpReductionOp, WarpShuffleMode, WarpShuffleValue, warp_reduce};

use super::anchored::{Anchored, AnchoredSum};
#[cfg(not(target_arch = "nvptx64"))]
use super::lanes::shuffled;
use super::lanes::{fold_lanes, pairwise};
use crate::number::Scalar;

/// The most additions between an element and the result in the default launches, not counting those
/// of totals.
pub const PATH: usize = 1 << 12;

/// An element of sums.
pub trait Addend: Scalar {
    /// The type in which a thread, its block and its launch add.
    type Partial: Partial;
    /// A faster way to add a few elements, if there is one.
    type Anchored: Anchored<Self>;
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

/// An unfinished sum.
pub trait Partial: Plain + WarpShuffleValue {
    /// The type in which the sums of blocks, chunks and ranks are added.
    type Total: Partial<Total = Self::Total> + PartialEq + core::fmt::Debug;
    /// 0.
    const ZERO: Self;
    /// The sum of two.
    fn merge(self, other: Self) -> Self;
    /// The sum of `N` values of each lane of a warp, in lane 0. `parts`: whether they are
    /// [parts](super::anchored::Anchored::parts) by the anchor of one block.
    ///
    /// # Safety
    /// All 32 lanes call it, with the same `parts`.
    #[inline(always)]
    unsafe fn of_warp<const N: usize>(values: [Self; N], _parts: bool) -> Self {
        // SAFETY: the caller's promise.
        unsafe { fold_lanes(values, Self::merge) }
    }
    /// What [`of_warp`](Self::of_warp) gives for these lanes' values, on the host.
    #[cfg(not(target_arch = "nvptx64"))]
    fn of_lanes<const N: usize>(lanes: [[Self; N]; 32], _parts: bool) -> Self {
        shuffled(
            lanes.map(|values| pairwise(values, Self::merge)),
            Self::merge,
        )
    }
    /// The sum as a total. Called on a total after each merge, it makes the rest as small as
    /// possible.
    fn settle(self) -> Self::Total;
}

/// Adds two totals; it may be repeated any number of times.
#[inline(always)]
pub fn merge_totals<T: Partial<Total = T>>(sum: T, next: T) -> T {
    sum.merge(next).settle()
}

/// An unevaluated sum of two `f64`.
#[derive(Clone, Copy, Debug, PartialEq, Plain)]
#[repr(C)]
pub struct Twofold {
    /// The sum as rounded to `f64`.
    pub sum: f64,
    /// The sum of its rounding errors.
    pub rest: f64,
}

/// The rounded sum and its exact rounding error, unless the sum overflows (Knuth).
#[inline(always)]
pub const fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// The rounded product and its exact rounding error, unless the error is below 2⁻¹⁰⁷⁴.
#[inline(always)]
fn two_product(a: f64, b: f64) -> (f64, f64) {
    // An fma, because a multiplication could be contracted with the addition that follows: the
    // error would then be that of another number.
    let product = GpuFloat::mul_add(a, b, 0.0);
    (product, GpuFloat::mul_add(a, b, -product))
}

impl Twofold {
    /// A sum of one number.
    pub const fn new(value: f64) -> Self {
        Self {
            sum: value,
            rest: 0.0,
        }
    }

    #[inline(always)]
    fn add(self, value: f64, error: f64) -> Self {
        let (sum, lost) = two_sum(self.sum, value);
        Self {
            sum,
            rest: self.rest + (error + lost),
        }
    }

    /// [`add`](Self::add) of a number that has no error: one addition less.
    #[inline(always)]
    fn plus(self, value: f64) -> Self {
        let (sum, lost) = two_sum(self.sum, value);
        Self {
            sum,
            rest: self.rest + lost,
        }
    }

    /// A number so much larger than up to 2^EXPONENTS / 4 numbers, of which the largest has this upper word
    /// without its sign, that all sums of theirs and it have its exponent: what the additions round
    /// to are multiples of one number. `None` if there is none, or a number is not finite.
    #[inline(always)]
    pub(super) fn above<const EXPONENTS: u32>(most: u32) -> Option<f64> {
        // Twice the largest times the numbers, twice again, and as far from the next exponent.
        const HALF: u32 = 1 << 19;
        if most >= (2046 - EXPONENTS) << 20 {
            return None;
        }
        let upper = (most & 0x7FF0_0000) + (EXPONENTS << 20 | HALF);
        Some(f64::from_bits(u64::from(upper) << 32))
    }

    /// The upper word of the sum without its sign.
    #[inline(always)]
    fn magnitude(self) -> u32 {
        (self.sum.to_bits() >> 32) as u32 & (u32::MAX >> 1)
    }

    /// The sums of the values' upper parts, the multiples of what [`above`](Self::above) is rounded
    /// to, and of their lower ones.
    #[inline(always)]
    pub(super) fn divided<const N: usize>(values: [Self; N], above: f64) -> Self {
        let mut parts = values;
        unrolled::<N>(|i| {
            let Self { sum, rest } = values[i];
            let upper = sum + above - above;
            parts[i] = Self {
                sum: upper,
                rest: sum - upper + rest,
            };
        });
        pairwise(parts, Self::add_parts)
    }

    /// The sums of the upper parts and of the lower ones.
    #[inline(always)]
    fn add_parts(self, other: Self) -> Self {
        Self {
            sum: self.sum + other.sum,
            rest: self.rest + other.rest,
        }
    }

    /// The quotient by a number of terms: NaN of nothing by 0.
    #[inline(always)]
    fn over(self, count: u64) -> Self {
        let by = count as f64;
        let sum = self.sum / by;
        // What the division leaves is exact.
        let left = GpuFloat::mul_add(-sum, by, self.sum) + self.rest;
        Self {
            sum,
            rest: left / by,
        }
    }

    /// A settled total, rounded to odd: an inexact total gets the neighbouring `f64` whose last bit
    /// is odd. Rounding that to a shorter format gives what rounding the total gives, with no
    /// double rounding.
    #[inline(always)]
    fn to_odd(self) -> f64 {
        let bits = self.sum.to_bits();
        if self.rest == 0.0 || bits & 1 == 1 {
            return self.sum;
        }
        f64::from_bits(match (self.rest > 0.0) == (self.sum > 0.0) {
            true => bits + 1,
            false => bits - 1,
        })
    }
}

impl Partial for Twofold {
    type Total = Self;
    const ZERO: Self = Self::new(0.0);

    #[inline(always)]
    fn merge(self, other: Self) -> Self {
        self.add(other.sum, other.rest)
    }

    /// Each sum is divided at one place for the whole warp. Sums of the upper parts are exact, so
    /// one addition takes the place of the six of [`two_sum`], and the lower parts are below 2⁻⁴² of
    /// the largest.
    #[inline(always)]
    unsafe fn of_warp<const N: usize>(values: [Self; N], parts: bool) -> Self {
        const { assert!(N <= 8) };
        if parts {
            // SAFETY: the caller's promise.
            return unsafe { fold_lanes(values, Self::add_parts) };
        }
        let mut most = 0;
        unrolled::<N>(|i| most = values[i].magnitude().max(most));
        // SAFETY: the caller's promise; all lanes have the same maximum.
        unsafe {
            let most = warp_reduce(u32::MAX, most, WarpReductionOp::Max);
            let Some(above) = Self::above::<10>(most) else {
                return fold_lanes(values, Self::merge);
            };
            fold_lanes([Self::divided(values, above)], Self::add_parts)
        }
    }

    #[cfg(not(target_arch = "nvptx64"))]
    fn of_lanes<const N: usize>(lanes: [[Self; N]; 32], parts: bool) -> Self {
        if parts {
            let lane = |values| pairwise(values, Self::add_parts);
            return shuffled(lanes.map(lane), Self::add_parts);
        }
        let most = lanes.iter().flatten().map(|value| value.magnitude()).max();
        match Self::above::<10>(most.unwrap_or(0)) {
            Some(above) => shuffled(
                lanes.map(|values| Self::divided(values, above)),
                Self::add_parts,
            ),
            None => shuffled(
                lanes.map(|values| pairwise(values, Self::merge)),
                Self::merge,
            ),
        }
    }

    #[inline(always)]
    fn settle(self) -> Self {
        // The rest of an infinity is NaN.
        if !(self.sum.is_finite() && self.rest.is_finite()) {
            return Self::new(self.sum);
        }
        let (sum, rest) = two_sum(self.sum, self.rest);
        Self { sum, rest }
    }
}

impl Partial for f64 {
    type Total = Twofold;
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn merge(self, other: Self) -> Self {
        self + other
    }

    #[inline(always)]
    fn settle(self) -> Twofold {
        Twofold::new(self)
    }
}

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
        impl Partial for $t {
            type Total = Self;
            const ZERO: Self = 0;

            #[inline(always)]
            fn merge(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn settle(self) -> Self {
                self
            }
        }

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

impl WarpShuffleValue for Twofold {
    /// Shuffles both terms separately, from the same lane.
    #[inline(always)]
    unsafe fn shuffle(
        mode: WarpShuffleMode,
        mask: u32,
        value: Self,
        b: u32,
        width: u32,
    ) -> (Self, bool) {
        // SAFETY: passed on to the caller.
        let ((sum, in_range), (rest, _)) = unsafe {
            (
                WarpShuffleValue::shuffle(mode, mask, value.sum, b, width),
                WarpShuffleValue::shuffle(mode, mask, value.rest, b, width),
            )
        };
        (Self { sum, rest }, in_range)
    }
}

#[cfg(test)]
mod tests {
    use super::{Addend, Partial, Twofold, merge_totals, two_product, two_sum};

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
