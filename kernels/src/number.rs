//! The element types of the kernels.

use cuda_std::warp::WarpShuffleValue;
use cuda_std::{GpuFloat, Plain};

/// A floating-point type for convolutions and matrix products.
pub trait Real: GpuFloat + Plain + Default {
    /// 0.
    const ZERO: Self;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
}

impl Real for f64 {
    const ZERO: Self = 0.0;
}

/// A type for kernels that only move elements: every type of the same width moves the same way.
pub trait Word: Plain + Default + sealed::Sealed {}

impl Word for u8 {}
impl Word for u16 {}
impl Word for u32 {}
impl Word for u64 {}

/// A type for reductions and scans. Integers wrap, as in NumPy.
pub trait Scalar: Plain + PartialOrd + WarpShuffleValue + sealed::Sealed {
    /// 0.
    const ZERO: Self;
    /// Added to any number it gives that number with the same bits: −0 of floats.
    const NOTHING: Self;
    /// At least as large as every value: the minimum of an empty input.
    const HIGHEST: Self;
    /// Its place among all values, as wide as they are: of NaN 0, and of both zeros the same.
    fn rank(self) -> u64;
    /// Its bits, the high ones zero.
    fn bits(self) -> u64;
    /// The element of the low bits.
    fn of_bits(bits: u64) -> Self;
    /// The sum.
    fn add(self, other: Self) -> Self;
    /// `self · factor + addend`; for floats with a single rounding.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// The smaller one; NaN if either is NaN.
    fn min(self, other: Self) -> Self;
    /// The larger one; NaN if either is NaN.
    fn max(self, other: Self) -> Self;
}

macro_rules! impl_scalar_for_integer {
    ($($t:ident $unsigned:ident)*) => {$(
        impl Scalar for $t {
            const ZERO: Self = 0;
            const NOTHING: Self = 0;
            const HIGHEST: Self = $t::MAX;

            #[inline(always)]
            fn rank(self) -> u64 {
                self.wrapping_sub($t::MIN) as $unsigned as u64
            }

            #[inline(always)]
            fn bits(self) -> u64 {
                self as $unsigned as u64
            }

            #[inline(always)]
            fn of_bits(bits: u64) -> Self {
                bits as Self
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                self.wrapping_mul(factor).wrapping_add(addend)
            }

            #[inline(always)]
            fn min(self, other: Self) -> Self {
                if other < self { other } else { self }
            }

            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if other > self { other } else { self }
            }
        }
    )*};
}
impl_scalar_for_integer!(i32 u32 i64 u64 u64 u64);

macro_rules! impl_scalar_for_float {
    ($($t:ident)*) => {$(
        impl Scalar for $t {
            const ZERO: Self = 0.0;
            const NOTHING: Self = -0.0;
            const HIGHEST: Self = $t::INFINITY;

            #[inline(always)]
            fn rank(self) -> u64 {
                // Of both zeros that of +0.
                let bits = (self + 0.0).to_bits();
                let highest = 1 << (size_of::<$t>() * 8 - 1);
                let rank = if bits & highest == 0 { bits | highest } else { !bits };
                if self.is_nan() { 0 } else { rank.into() }
            }

            #[inline(always)]
            fn bits(self) -> u64 {
                self.to_bits() as u64
            }

            #[inline(always)]
            fn of_bits(bits: u64) -> Self {
                Self::from_bits(bits as _)
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                GpuFloat::mul_add(self, factor, addend)
            }

            // PTX's `min` and `max` drop NaN. NumPy's propagate it, and so do these: comparisons
            // with NaN are false, which selects it.
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                if self < other || self.is_nan() { self } else { other }
            }

            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if self > other || self.is_nan() { self } else { other }
            }
        }
    )*};
}
impl_scalar_for_float!(f32 f64);

mod sealed {
    pub trait Sealed {}

    impl Sealed for u8 {}
    impl Sealed for u16 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for i32 {}
    impl Sealed for i64 {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

#[cfg(test)]
mod tests {
    use super::Scalar;

    fn ascend<T: Scalar>(values: &[T]) {
        let ranks: Vec<u64> = values.iter().map(|value| value.rank()).collect();
        assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:x?}");
        assert!(ranks[ranks.len() - 1] <= u64::MAX >> (64 - 8 * size_of::<T>()));
    }

    #[test]
    fn ranks_are_in_the_order_of_values() {
        ascend(&[i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX]);
        ascend(&[i32::MIN, -1, 0, i32::MAX]);
        ascend(&[0, 1, u64::MAX]);
        let least = f32::from_bits(1);
        ascend(&[
            f32::NAN,
            f32::NEG_INFINITY,
            f32::MIN,
            -least,
            0.0,
            least,
            f32::INFINITY,
        ]);
        ascend(&[f64::NAN, f64::NEG_INFINITY, -1.0, -0.0, 1.0, f64::INFINITY]);
        assert_eq!((-0.0_f64).rank(), 0.0_f64.rank());
        assert_eq!((-f32::NAN).rank(), 0);
    }
}
