//! The reductions' references.

use ndarray::{ArrayView1, Ix0, arr0};

use super::{Expected, Precision, Sum};

/// Σ aᵢ·bᵢ for results in `T` in which each product goes through at most `roundings` roundings.
pub fn dot<T: Precision>(
    a: ArrayView1<'_, T>,
    b: ArrayView1<'_, T>,
    roundings: usize,
) -> Expected<Ix0> {
    expected::<T>(
        a.iter().zip(b).map(|(&a, &b)| (a.into(), b.into())),
        roundings,
    )
}

/// Σ xᵢ for results in `T` in which each element goes through at most `roundings` roundings.
pub fn sum<T: Precision>(input: ArrayView1<'_, T>, roundings: usize) -> Expected<Ix0> {
    expected::<T>(input.iter().map(|&value| (value.into(), 1.0)), roundings)
}

fn expected<T: Precision>(
    products: impl Iterator<Item = (f64, f64)>,
    roundings: usize,
) -> Expected<Ix0> {
    let mut sum = Sum::default();
    products.for_each(|(a, b)| sum.add(a, b));
    Expected {
        values: arr0(sum.value()),
        tolerance: arr0(sum.tolerance_after::<T>(roundings)),
    }
}

/// Σ aᵢ·bᵢ without overflow, and what `i64` wraps it to.
pub fn dot_i64(a: ArrayView1<'_, i64>, b: ArrayView1<'_, i64>) -> (i128, i64) {
    wrap(a.iter().zip(b).fold(0, |sum: i128, (&a, &b)| {
        sum.wrapping_add(i128::from(a) * i128::from(b))
    }))
}

/// Σ xᵢ without overflow, and what `i64` wraps it to.
pub fn sum_i64(input: ArrayView1<'_, i64>) -> (i128, i64) {
    wrap(input.iter().map(|&value| i128::from(value)).sum())
}

/// The low 64 bits, as arithmetic modulo 2⁶⁴ leaves them.
fn wrap(exact: i128) -> (i128, i64) {
    (exact, exact as i64)
}

/// The smallest element; one that is not equal to itself (NaN) wins. `None` of nothing.
pub fn min<T: PartialOrd + Copy>(input: ArrayView1<'_, T>) -> Option<T> {
    extreme(input, |value, best| value < best)
}

/// The largest element; one that is not equal to itself (NaN) wins. `None` of nothing.
pub fn max<T: PartialOrd + Copy>(input: ArrayView1<'_, T>) -> Option<T> {
    extreme(input, |value, best| value > best)
}

fn extreme<T: PartialOrd + Copy>(
    input: ArrayView1<'_, T>,
    better: impl Fn(T, T) -> bool,
) -> Option<T> {
    let is_nan = |value: T| value.partial_cmp(&value).is_none();
    input.iter().copied().reduce(|best, value| {
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
            sum(array![0.1_f32, 0.2].view(), 2).values[()],
            f64::from(0.1_f32) + f64::from(0.2_f32)
        );
    }
}
