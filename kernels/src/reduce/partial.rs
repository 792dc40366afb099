//! Unfinished sums: `f64`, two terms ([`Twofold`]), integers. [`addend`](super::addend) states which
//! elements are added in which, and the error.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;
use cuda_std::warp::{WarpReductionOp, WarpShuffleMode, WarpShuffleValue, warp_reduce};

#[cfg(not(target_arch = "nvptx64"))]
use super::lanes::shuffled;
use super::lanes::{fold_lanes, pairwise};

/// An unfinished sum.
pub trait Partial: Plain + WarpShuffleValue {
    /// The type in which the sums of blocks, chunks and ranks are added.
    type Total: Partial<Total = Self::Total> + PartialEq + core::fmt::Debug;
    /// 0.
    const ZERO: Self;
    /// Whether a warp divides its values at one place, so that the more of them a lane has, the
    /// fewer additions each takes.
    const DIVIDES: bool = false;
    /// The sum of two.
    fn merge(self, other: Self) -> Self;
    /// The sum of `N` values of each lane of a warp, in lane 0.
    ///
    /// # Safety
    /// All 32 lanes call it.
    #[inline(always)]
    unsafe fn of_warp<const N: usize>(values: [Self; N]) -> Self {
        // SAFETY: the caller's promise.
        unsafe { fold_lanes(values, Self::merge) }
    }
    /// What [`of_warp`](Self::of_warp) gives for these lanes' values, on the host.
    #[cfg(not(target_arch = "nvptx64"))]
    fn of_lanes<const N: usize>(lanes: [[Self; N]; 32]) -> Self {
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
pub(super) fn two_product(a: f64, b: f64) -> (f64, f64) {
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
    pub(super) fn add(self, value: f64, error: f64) -> Self {
        let (sum, lost) = two_sum(self.sum, value);
        Self {
            sum,
            rest: self.rest + (error + lost),
        }
    }

    /// [`add`](Self::add) of a number that has no error: one addition less.
    #[inline(always)]
    pub(super) fn plus(self, value: f64) -> Self {
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

    /// The quotient by a number of terms, fewer than 2⁵⁰: NaN of nothing by 0.
    #[inline(always)]
    pub(super) fn over(self, count: u64) -> Self {
        let by = count as f64;
        // One division for all quotients by `count`: another takes three operations, and is rounded
        // as a division is. Its remainder is exact, a multiple of the quotient's last place.
        let inverse = 1.0 / by;
        let divided = |x: f64| {
            let about = x * inverse;
            let left = GpuFloat::mul_add(-about, by, x);
            // Of an infinity.
            if left.is_nan() {
                about
            } else {
                GpuFloat::mul_add(left, inverse, about)
            }
        };
        let sum = divided(self.sum);
        // What the division leaves is exact.
        let left = GpuFloat::mul_add(-sum, by, self.sum) + self.rest;
        Self {
            sum,
            rest: divided(left),
        }
    }

    /// A settled total, rounded to odd: an inexact total gets the neighbouring `f64` whose last bit
    /// is odd. Rounding that to a shorter format gives what rounding the total gives, with no
    /// double rounding.
    #[inline(always)]
    pub(super) fn to_odd(self) -> f64 {
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
    const DIVIDES: bool = true;

    #[inline(always)]
    fn merge(self, other: Self) -> Self {
        self.add(other.sum, other.rest)
    }

    /// Each sum is divided at one place for the whole warp. Sums of the upper parts are exact, so
    /// one addition takes the place of the six of [`two_sum`], and the lower parts are below 2⁻⁴² of
    /// the largest.
    #[inline(always)]
    unsafe fn of_warp<const N: usize>(values: [Self; N]) -> Self {
        const { assert!(N <= 8) };
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
    fn of_lanes<const N: usize>(lanes: [[Self; N]; 32]) -> Self {
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
    )*};
}
integers! { i64 u64 }
