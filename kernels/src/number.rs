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

/// A type for reductions. Integers wrap, as in NumPy.
pub trait Scalar: Plain + WarpShuffleValue + sealed::Sealed {
    /// 0.
    const ZERO: Self;
    /// At least as large as every value: the minimum of an empty input.
    const HIGHEST: Self;
    /// At most as large as every value: the maximum of an empty input.
    const LOWEST: Self;
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
    ($($t:ident)*) => {$(
        impl Scalar for $t {
            const ZERO: Self = 0;
            const HIGHEST: Self = $t::MAX;
            const LOWEST: Self = $t::MIN;

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
impl_scalar_for_integer!(i32 i64);

macro_rules! impl_scalar_for_float {
    ($($t:ident)*) => {$(
        impl Scalar for $t {
            const ZERO: Self = 0.0;
            const HIGHEST: Self = $t::INFINITY;
            const LOWEST: Self = $t::NEG_INFINITY;

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
