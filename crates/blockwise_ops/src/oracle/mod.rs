//! Reference results in float64, by the simplest possible loops, each with the error that a correct
//! kernel may have. Sums and dot products are exact, and rounded once ([`Exact`]).
//!
//! # The tolerance of convolutions and matrix products
//! A sum of n products computed with unit roundoff u, in any order and with or without fma, differs
//! from the exact one by at most γₙ · Σ|aᵢ||bᵢ|, γₙ = n·u / (1 − n·u) (Higham, *Accuracy and
//! Stability of Numerical Algorithms*, 2nd ed., section 3.1). The oracle's own sum has the same
//! bound with float64's u. The tolerance is the sum of both, plus one rounding of the result and
//! half of the smallest subnormal for each product. Products with 0 are exact. Integers, minima,
//! maxima and moved data are exact: tolerance zero.
//!
//! # The tolerance of sums and dot products
//! A term that takes part in only h roundings, as in a tree, has γₕ instead (ibid., section 4.2).
//! [`sum_error`](crate::reduce::sum_error) has h for our kernels,
//! [`blocked_path`] for other libraries' pairwise and blocked sums, and [`blas_path`] for their dot
//! products.

mod conv1d;
mod exact;
mod matmul;
mod movement;
mod reduce;

pub use conv1d::{convolve, convolve_part, fft_error, of_transforms, transform_error};
pub(crate) use conv1d::of_sums;
pub use exact::Exact;
pub use matmul::matmul;
pub use movement::{reverse, transpose};
pub use reduce::{blas_path, blocked_path, dot, dot_i64, max, min, sum, sum_i64};
pub(crate) use reduce::{greatest, least, widened};

use ndarray::{Array, Dimension};

use crate::Float;

/// A floating-point type of results.
pub trait Precision: Float + Into<f64> {
    /// Half the distance from 1 to the next number: the largest relative error of one rounding.
    const UNIT_ROUNDOFF: f64;
    /// The smallest positive number, as float64.
    const SMALLEST: f64;

    /// The nearest number of this type; infinity beyond the largest one.
    fn nearest(value: f64) -> Self;
}

impl Precision for f32 {
    const UNIT_ROUNDOFF: f64 = 1.0 / (1u64 << 24) as f64;
    const SMALLEST: f64 = 1.401298464324817e-45;

    fn nearest(value: f64) -> Self {
        value as f32
    }
}

impl Precision for f64 {
    const UNIT_ROUNDOFF: f64 = 1.0 / (1u64 << 53) as f64;
    const SMALLEST: f64 = 5e-324;

    fn nearest(value: f64) -> Self {
        value
    }
}

/// Reference values, and the allowed difference for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected<D: Dimension> {
    /// The values in float64.
    pub values: Array<f64, D>,
    /// The largest allowed absolute difference, element by element.
    pub tolerance: Array<f64, D>,
}

/// A sum of products in float64 and its magnitude Σ|aᵢ||bᵢ|.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum {
    value: f64,
    magnitude: f64,
    terms: usize,
    /// Terms with two non-zero factors.
    telling: usize,
}

impl Sum {
    /// Adds the product of two numbers.
    pub fn add(&mut self, a: f64, b: f64) {
        self.value += a * b;
        self.magnitude += (a * b).abs();
        self.terms += 1;
        self.telling += usize::from(a != 0.0 && b != 0.0);
    }

    /// The sum so far.
    pub fn value(self) -> f64 {
        self.value
    }

    /// The sum of the terms' magnitudes so far.
    pub fn magnitude(self) -> f64 {
        self.magnitude
    }

    /// The allowed error of a result computed in `T`, in any order.
    pub fn tolerance<T: Precision>(self) -> f64 {
        let bound = (gamma(self.terms, T::UNIT_ROUNDOFF) + gamma(self.terms, f64::UNIT_ROUNDOFF))
            * self.magnitude;
        let tolerance =
            bound + T::UNIT_ROUNDOFF * self.value.abs() + T::SMALLEST * (self.telling as f64 / 2.0);
        // If the sum itself is infinite or NaN, there is no tolerance.
        if tolerance.is_finite() {
            tolerance
        } else {
            0.0
        }
    }
}

/// γₙ: the relative error of n accumulated roundings. Infinite where the bound no longer holds.
pub fn gamma(n: usize, unit_roundoff: f64) -> f64 {
    let errors = n as f64 * unit_roundoff;
    if errors < 1.0 {
        errors / (1.0 - errors)
    } else {
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tolerance_grows_with_the_length_and_shrinks_with_the_precision() {
        let sum_of = |n: usize| {
            let mut sum = Sum::default();
            (0..n).for_each(|_| sum.add(1.0, 1.0));
            sum
        };
        let (short, long) = (sum_of(10), sum_of(1000));
        assert!(long.tolerance::<f32>() > 1000.0 * short.tolerance::<f32>());
        assert!(long.tolerance::<f64>() < 1e-8 * long.tolerance::<f32>());
        // 1000 roundings of at most 2^-24, in a sum of 1000.
        assert!(
            (long.tolerance::<f32>() / (1001.0 * 1000.0 / (1u64 << 24) as f64) - 1.0).abs() < 1e-3
        );
    }

    #[test]
    fn an_infinite_sum_tolerates_nothing() {
        let mut sum = Sum::default();
        sum.add(f64::INFINITY, 1.0);
        assert_eq!(sum.tolerance::<f32>(), 0.0);
        assert_eq!(Sum::default().tolerance::<f64>(), 0.0);
        let mut silent = Sum::default();
        (0..5).for_each(|_| silent.add(0.0, 3.0));
        assert_eq!(silent.tolerance::<f32>(), 0.0);
    }
}
