//! The references of reductions.

use ndarray::{ArrayView1, Ix0, arr0};

use super::{Exact, Expected, Precision, gamma};

/// Σ aᵢ·bᵢ for results in `T` whose error before rounding is at most `error` · Σ|aᵢ||bᵢ|.
pub fn dot<T: Precision>(a: ArrayView1<'_, T>, b: ArrayView1<'_, T>, error: f64) -> Expected<Ix0> {
    let mut sum = Exact::default();
    a.iter()
        .zip(b)
        .for_each(|(&a, &b)| sum.add_product(a.into(), b.into()));
    // Each product may underflow by up to half of the smallest number.
    expected::<T>(&sum, error, T::SMALLEST * (sum.terms() as f64 / 2.0))
}

/// Σ xᵢ for results in `T` whose error before rounding is at most `error` · Σ|xᵢ|.
pub fn sum<T: Precision>(input: ArrayView1<'_, T>, error: f64) -> Expected<Ix0> {
    let mut sum = Exact::default();
    input.iter().for_each(|&value| sum.add(value.into()));
    expected::<T>(&sum, error, 0.0)
}

fn expected<T: Precision>(sum: &Exact, error: f64, lost: f64) -> Expected<Ix0> {
    let value = sum.nearest::<f64>();
    // Half a unit in the last place is at most this, or half of the smallest number, which float64
    // cannot represent for itself.
    let rounding = (T::UNIT_ROUNDOFF * value.abs()).max(T::SMALLEST / 2.0);
    let tolerance = rounding + error * sum.magnitude() + lost;
    Expected {
        values: arr0(value),
        // If the sum itself is infinite or NaN, there is no tolerance.
        tolerance: arr0(if tolerance.is_finite() {
            tolerance
        } else {
            0.0
        }),
    }
}

/// The error of a sum before rounding, relative to the sum of its terms' magnitudes, if `f32` is
/// added in `f64` and `f64` in two terms, with at most `path` operations between any element and
/// the result: see [`kernels::reduce::addend`].
pub(crate) fn widened<T: Precision>(path: usize) -> f64 {
    let errors = gamma(path, f64::UNIT_ROUNDOFF);
    match T::UNIT_ROUNDOFF > f64::UNIT_ROUNDOFF {
        true => errors,
        false => errors * gamma(2 * path, f64::UNIT_ROUNDOFF),
    }
}

/// The most additions between an element and the result of a pairwise or blocked sum of that many
/// terms, as in other libraries:
///
/// - NumPy adds blocks of 128 elements in eight sums each, and the blocks in pairs: 16 and log₂.
/// - PyTorch on a CPU adds in four levels of at least 16 terms each, in 32 sums: below 256 up to
///   2³³ terms.
/// - PyTorch and CUB on a GPU add in at least 2¹⁸ sums, and these in trees.
///
/// A loop that adds one by one has one addition per term; so do NumPy's sums over any axis but the
/// last.
pub fn blocked_path(terms: usize) -> usize {
    let levels = terms.checked_ilog2().unwrap_or_default() as usize + 1;
    terms.min(256 + levels + (terms >> 18))
}

/// The same for dot products: BLAS libraries add them in 32 sums, whatever their length.
pub fn blas_path(terms: usize) -> usize {
    terms.min(blocked_path(terms).max(terms / 32 + 8))
}

/// Σ aᵢ·bᵢ without overflow, and wrapped to `i64`.
pub fn dot_i64(a: ArrayView1<'_, i64>, b: ArrayView1<'_, i64>) -> (i128, i64) {
    wrap(a.iter().zip(b).fold(0, |sum: i128, (&a, &b)| {
        sum.wrapping_add(i128::from(a) * i128::from(b))
    }))
}

/// Σ xᵢ without overflow, and wrapped to `i64`.
pub fn sum_i64(input: ArrayView1<'_, i64>) -> (i128, i64) {
    wrap(input.iter().map(|&value| i128::from(value)).sum())
}

/// The low 64 bits, as in arithmetic modulo 2⁶⁴.
fn wrap(exact: i128) -> (i128, i64) {
    (exact, exact as i64)
}

/// The smallest element; NaN if there is one. `None` if there are no elements.
pub fn min<T: PartialOrd + Copy>(input: ArrayView1<'_, T>) -> Option<T> {
    least(input.iter().copied())
}

/// The largest element; NaN if there is one. `None` if there are no elements.
pub fn max<T: PartialOrd + Copy>(input: ArrayView1<'_, T>) -> Option<T> {
    greatest(input.iter().copied())
}

/// [`min`] of any elements.
pub(crate) fn least<T: PartialOrd + Copy>(elements: impl Iterator<Item = T>) -> Option<T> {
    extreme(elements, |value, best| value < best)
}

/// [`max`] of any elements.
pub(crate) fn greatest<T: PartialOrd + Copy>(elements: impl Iterator<Item = T>) -> Option<T> {
    extreme(elements, |value, best| value > best)
}

fn extreme<T: PartialOrd + Copy>(
    elements: impl Iterator<Item = T>,
    better: impl Fn(T, T) -> bool,
) -> Option<T> {
    let is_nan = |value: T| value.partial_cmp(&value).is_none();
    elements.reduce(|best, value| {
        if is_nan(best) || !(is_nan(value) || better(value, best)) {
            best
        } else {
            value
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn extremes_keep_nan_as_numpy_does() {
        assert_eq!(min(array![3.0, -1.0, 2.0].view()), Some(-1.0));
        assert_eq!(max(array![3, -1, 2].view()), Some(3));
        assert!(min(array![3.0, f64::NAN, 2.0].view()).is_some_and(f64::is_nan));
        assert!(max(array![f32::NAN, 1.0].view()).is_some_and(f32::is_nan));
        assert_eq!(max::<f32>(array![].view()), None);
    }

    #[test]
    fn integers_are_exact_and_wrap_where_64_bits_do() {
        assert_eq!(
            dot_i64(array![i64::MAX, 1].view(), array![2, 3].view()),
            (i128::from(i64::MAX) * 2 + 3, 1)
        );
        assert_eq!(sum_i64(array![i64::MAX, 1].view()), (1 << 63, i64::MIN));
        assert_eq!(
            sum(array![0.1_f32, 0.2].view(), 0.0).values[()],
            f64::from(0.1_f32) + f64::from(0.2_f32)
        );
    }

    #[test]
    fn a_sum_may_be_off_by_its_rounding_and_its_error() {
        let large = sum(array![1e8_f32, 1.0, -1e8].view(), 1e-12);
        assert_eq!(large.values[()], 1.0);
        let unit = f32::UNIT_ROUNDOFF;
        assert!((large.tolerance[()] - (unit + 1e-12 * 2e8)).abs() < 1e-6);
        let product = dot(array![3.0_f64].view(), array![5.0].view(), 0.0);
        assert_eq!(product.tolerance[()], 15.0 * f64::UNIT_ROUNDOFF + 5e-324);
        let infinite = sum(array![f32::INFINITY, 1.0].view(), 1.0);
        assert_eq!(infinite.tolerance[()], 0.0);
    }

    /// Half the true value does not pass, whatever the length.
    #[test]
    fn other_librarys_sums_have_short_paths() {
        assert_eq!([0, 1, 5].map(blocked_path), [0, 1, 5]);
        assert_eq!(blocked_path(1 << 23), 256 + 24 + 32);
        let error = |path, unit| gamma(path + 1, unit);
        assert!(error(blocked_path(1 << 23), f32::UNIT_ROUNDOFF) < 2e-5);
        assert!(error(blocked_path(1 << 30), f32::UNIT_ROUNDOFF) < 3e-4);
        assert!(error(blocked_path(1 << 33), f64::UNIT_ROUNDOFF) < 1e-11);
        assert_eq!([1, 5, 100_000].map(blas_path), [1, 5, 3133]);
        assert!(error(blas_path(1 << 23), f32::UNIT_ROUNDOFF) < 0.02);
    }
}
