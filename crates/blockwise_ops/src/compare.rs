//! Compares a result with its reference, element by element.

use ndarray::{ArrayView, Dimension, IntoDimension};

use crate::oracle::{Expected, Precision};
use crate::{AnyArray, AnyNumber};

/// How a result differs from its reference.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Comparison {
    /// Elements compared.
    pub elements: usize,
    /// Elements outside their tolerance.
    pub mismatches: usize,
    /// Largest |result − reference|. NaN against a number counts as infinite, and is null in JSON.
    pub max_absolute_error: f64,
    /// Largest |result − reference| / |reference|: infinite, and null in JSON, where the reference
    /// is 0 and the result is not.
    pub max_relative_error: f64,
    /// Elements whose result and reference are both 0: they have no relative error.
    pub zeros: usize,
    /// √(mean of the squared differences).
    pub rms_error: f64,
    /// Largest tolerance of an element.
    pub max_tolerance: f64,
    /// The first element outside its tolerance, in row-major order.
    pub first_mismatch: Option<Mismatch>,
    /// Where the tolerances come from, in words; empty if that was not stated.
    pub bound: String,
}

/// An element outside its tolerance.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Mismatch {
    /// Its index, one number for each dimension.
    pub index: Vec<usize>,
    /// The element of the result.
    pub result: f64,
    /// The element of the reference.
    pub reference: f64,
    /// The allowed difference.
    pub tolerance: f64,
}

/// The shapes of a result and its reference differ.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the result has shape {result:?}, the reference {reference:?}")]
pub struct ShapeMismatch {
    /// Shape of the result.
    pub result: Vec<usize>,
    /// Shape of the reference.
    pub reference: Vec<usize>,
}

impl Comparison {
    /// An empty comparison.
    pub fn empty() -> Self {
        Comparison {
            elements: 0,
            mismatches: 0,
            max_absolute_error: 0.0,
            max_relative_error: 0.0,
            zeros: 0,
            rms_error: 0.0,
            max_tolerance: 0.0,
            first_mismatch: None,
            bound: String::new(),
        }
    }

    /// The same, with where its tolerances come from.
    #[must_use]
    pub fn bounded_by(self, bound: impl Into<String>) -> Self {
        let bound = bound.into();
        Self { bound, ..self }
    }

    /// Adds the comparison of the next rows; the first of them has index `row` along the first
    /// dimension.
    pub fn append(&mut self, row: usize, next: Comparison) {
        let squares = |part: &Comparison| part.rms_error.powi(2) * part.elements as f64;
        let squares = squares(self) + squares(&next);
        self.elements += next.elements;
        self.mismatches += next.mismatches;
        self.rms_error = (squares / self.elements.max(1) as f64).sqrt();
        self.max_absolute_error = self.max_absolute_error.max(next.max_absolute_error);
        self.max_relative_error = self.max_relative_error.max(next.max_relative_error);
        self.zeros += next.zeros;
        self.max_tolerance = self.max_tolerance.max(next.max_tolerance);
        if self.bound.is_empty() {
            self.bound = next.bound;
        }
        if self.first_mismatch.is_none() {
            self.first_mismatch = next.first_mismatch.map(|mut mismatch| {
                if let Some(first) = mismatch.index.first_mut() {
                    *first += row;
                }
                mismatch
            });
        }
    }

    /// Whether every element is within its tolerance.
    pub fn passed(&self) -> bool {
        self.mismatches == 0
    }
}

/// Compares a floating-point result with an oracle's values.
///
/// An element passes if its difference is within the tolerance, or if it is exactly the rounded
/// reference (so an infinity passes where the reference overflows this precision), or if both are
/// NaN. NaN against a number never passes.
///
/// # Errors
/// [`ShapeMismatch`].
pub fn with_oracle<T: Precision, D: Dimension>(
    result: ArrayView<'_, T, D>,
    expected: &Expected<D>,
) -> Result<Comparison, ShapeMismatch> {
    same_shape(result.shape(), expected.values.shape())?;
    Ok(summarise(
        result
            .indexed_iter()
            .zip(expected.values.iter().zip(&expected.tolerance))
            .map(|((index, &value), (&reference, &tolerance))| Pair {
                index,
                result: value.into(),
                reference,
                tolerance,
                error: (value.into() - reference).abs(),
                same: value == T::nearest(reference),
            }),
    ))
}

/// Compares values that must be equal as numbers, whatever their types: nothing is rounded. For
/// floats any NaN equals any other.
///
/// # Errors
/// [`ShapeMismatch`].
pub fn exactly<T: ToNumber, R: ToNumber, D: Dimension>(
    result: ArrayView<'_, T, D>,
    reference: ArrayView<'_, R, D>,
) -> Result<Comparison, ShapeMismatch> {
    same_shape(result.shape(), reference.shape())?;
    Ok(summarise(result.indexed_iter().zip(reference.iter()).map(
        |((index, &value), &expected)| {
            let (result, reference) = (value.to_number(), expected.to_number());
            let error = match (value.to_integer(), expected.to_integer()) {
                (Some(value), Some(expected)) => value.abs_diff(expected) as f64,
                _ => (result - reference).abs(),
            };
            Pair {
                index,
                result,
                reference,
                tolerance: 0.0,
                error,
                same: error == 0.0 || result.is_infinite() && result == reference,
            }
        },
    )))
}

/// Compares two arrays of any types and the same number of elements, element by element: within the
/// element's tolerance, or exactly if there are none. No number is rounded.
///
/// # Errors
/// [`ShapeMismatch`].
pub fn any(
    result: &AnyArray,
    reference: &AnyArray,
    tolerance: Option<&[f64]>,
) -> Result<Comparison, ShapeMismatch> {
    if result.len() != reference.len() {
        same_shape(result.shape(), reference.shape())?;
    }
    let mut comparison = summarise((0..result.len()).map(|index| {
        let (value, expected) = (result.number(index), reference.number(index));
        let (result, reference) = (value.to_f64(), expected.to_f64());
        let error = match (integer(value), integer(expected)) {
            (Some(value), Some(expected)) => value.abs_diff(expected) as f64,
            _ => (result - reference).abs(),
        };
        Pair {
            index,
            result,
            reference,
            tolerance: tolerance.map_or(0.0, |all| all[index]),
            error,
            same: error == 0.0 || result.is_infinite() && result == reference,
        }
    }));
    if let Some(first) = &mut comparison.first_mismatch {
        first.index = place(first.index[0], result.shape());
    }
    Ok(comparison)
}

/// The number, if it is an integer of at most 100 bits.
fn integer(number: AnyNumber) -> Option<i128> {
    match number {
        AnyNumber::Integer(value) => Some(value),
        AnyNumber::Float(value) => value.to_integer(),
    }
}

/// The indices of an element of an array in row-major order.
fn place(mut at: usize, shape: &[usize]) -> Vec<usize> {
    let mut indices: Vec<_> = (shape.iter().rev())
        .map(|&extent| {
            let index = at % extent;
            at /= extent;
            index
        })
        .collect();
    indices.reverse();
    indices
}

/// A number of any type.
pub trait ToNumber: Copy {
    /// The nearest float64.
    fn to_number(self) -> f64;
    /// The same number, if it is an integer of at most 100 bits.
    fn to_integer(self) -> Option<i128>;
}

macro_rules! impl_to_number {
    (integers: $($integer:ty)*; floats: $($float:ty)*) => {
        $(
            impl ToNumber for $integer {
                fn to_number(self) -> f64 {
                    self as f64
                }

                fn to_integer(self) -> Option<i128> {
                    Some(self.into())
                }
            }
        )*
        $(
            impl ToNumber for $float {
                fn to_number(self) -> f64 {
                    self.into()
                }

                fn to_integer(self) -> Option<i128> {
                    let is_integer = self.trunc() == self && self.abs() < 1e30;
                    is_integer.then_some(self as i128)
                }
            }
        )*
    };
}
impl_to_number!(integers: u32 u64 i64; floats: f32 f64);

fn same_shape(result: &[usize], reference: &[usize]) -> Result<(), ShapeMismatch> {
    if result == reference {
        return Ok(());
    }
    Err(ShapeMismatch {
        result: result.to_vec(),
        reference: reference.to_vec(),
    })
}

/// One element and its reference.
struct Pair<I> {
    index: I,
    result: f64,
    reference: f64,
    tolerance: f64,
    /// |result − reference|, computed before the conversion to float64.
    error: f64,
    /// Equal in the result's type.
    same: bool,
}

fn summarise<I: IntoDimension>(pairs: impl Iterator<Item = Pair<I>>) -> Comparison {
    let mut comparison = Comparison::empty();
    let mut squares = 0.0;
    for pair in pairs {
        let agrees = pair.same || (pair.result.is_nan() && pair.reference.is_nan());
        let error = match pair.error {
            _ if agrees && !(pair.result.is_finite() && pair.reference.is_finite()) => 0.0,
            error if error.is_nan() => f64::INFINITY,
            error => error,
        };
        comparison.elements += 1;
        squares += error * error;
        comparison.max_absolute_error = comparison.max_absolute_error.max(error);
        comparison.max_tolerance = comparison.max_tolerance.max(pair.tolerance);
        comparison.zeros += usize::from(pair.reference == 0.0 && error == 0.0);
        if error > 0.0 {
            // An infinite error is also infinite relatively, even against an infinite reference.
            let relative = if error.is_finite() {
                error / pair.reference.abs()
            } else {
                error
            };
            comparison.max_relative_error = comparison.max_relative_error.max(relative);
        }
        // No tolerance covers an infinite error, not even an infinite one.
        if !(agrees || (error.is_finite() && error <= pair.tolerance)) {
            comparison.mismatches += 1;
            comparison.first_mismatch.get_or_insert_with(|| Mismatch {
                index: index_of(pair.index),
                result: pair.result,
                reference: pair.reference,
                tolerance: pair.tolerance,
            });
        }
    }
    comparison.rms_error = (squares / comparison.elements.max(1) as f64).sqrt();
    comparison
}

fn index_of(pattern: impl IntoDimension) -> Vec<usize> {
    pattern.into_dimension().as_array_view().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array, Array1, array};

    fn expected(values: Array1<f64>, tolerance: f64) -> Expected<ndarray::Ix1> {
        let tolerance = Array::from_elem(values.raw_dim(), tolerance);
        Expected { values, tolerance }
    }

    #[test]
    fn figures_of_a_small_difference() {
        let result = array![1.0_f64, 2.5, 4.0];
        let comparison =
            with_oracle(result.view(), &expected(array![1.0, 2.0, 4.0], 0.25)).unwrap();
        assert_eq!((comparison.elements, comparison.mismatches), (3, 1));
        assert_eq!(
            (comparison.max_absolute_error, comparison.max_relative_error),
            (0.5, 0.25)
        );
        assert_eq!(comparison.rms_error, (0.25_f64 / 3.0).sqrt());
        let first = comparison.first_mismatch.unwrap();
        assert_eq!(
            (first.index, first.result, first.reference),
            (vec![1], 2.5, 2.0)
        );
    }

    #[test]
    fn a_reference_of_zero_counts() {
        let compared = |result: Array1<f64>| {
            let reference = expected(array![0.0, 2.0, 0.0, -0.0], 1e9);
            with_oracle(result.view(), &reference).unwrap()
        };
        let right = compared(array![0.0, 2.0, -0.0, 0.0]);
        assert_eq!((right.max_relative_error, right.zeros), (0.0, 3));
        let tiny = compared(array![0.0, 2.0, 5e-324, 0.0]);
        assert_eq!((tiny.max_relative_error, tiny.zeros), (f64::INFINITY, 2));
        let mut parts = right.bounded_by("a test");
        parts.append(4, tiny.bounded_by("another"));
        assert_eq!((parts.max_relative_error, parts.zeros), (f64::INFINITY, 5));
        assert_eq!(parts.bound, "a test");
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let result = array![1.0_f64, 2.5, 4.0, 9.0, f64::NAN];
        let reference = expected(array![1.0, 2.0, 4.0, 5.0, 1.0], 0.75);
        let whole = with_oracle(result.view(), &reference).unwrap();
        let mut parts = Comparison::empty();
        for (row, range) in [(0, 0..2), (2, 2..3), (3, 3..5)] {
            let part = expected(
                reference
                    .values
                    .slice(ndarray::s![range.clone()])
                    .to_owned(),
                0.75,
            );
            let result = result.slice(ndarray::s![range]);
            parts.append(row, with_oracle(result, &part).unwrap());
        }
        assert_eq!(parts, whole);
        assert_eq!(parts.first_mismatch.unwrap().index, [3]);
    }

    #[track_caller]
    fn check_element(result: f32, reference: f64, tolerance: f64, passes: bool) {
        let comparison = with_oracle(
            array![result].view(),
            &expected(array![reference], tolerance),
        )
        .unwrap();
        assert_eq!(
            comparison.passed(),
            passes,
            "{result} against {reference}: {comparison:?}"
        );
    }

    #[test]
    fn nan_and_infinity() {
        check_element(f32::NAN, 1.0, f64::INFINITY, false);
        check_element(1.0, f64::NAN, 1.0, false);
        check_element(f32::NAN, f64::NAN, 0.0, true);
        check_element(f32::INFINITY, f64::INFINITY, 0.0, true);
        check_element(f32::INFINITY, 1e39, 1.0, true); // what 1e39 rounds to
        check_element(f32::INFINITY, 1e38, 1e30, false);
        check_element(f32::NEG_INFINITY, f64::INFINITY, 0.0, false);
        check_element(1.0, f64::INFINITY, 0.0, false);
        check_element(1.0, 1.0 + 1e-9, 0.0, true); // the same number in f32
        check_element(1.0, 1.1, 0.2, true);
    }

    #[test]
    fn exact_values_and_indices_in_two_dimensions() {
        let (result, reference) = (array![[1_i64, 2], [3, 4]], array![[1_i64, 2], [9, 4]]);
        let comparison = exactly(result.view(), reference.view()).unwrap();
        assert_eq!(comparison.first_mismatch.unwrap().index, [1, 0]);
        // Integers that one float64 stands for, and numbers of unlike types.
        let large = (1_i64 << 53) + 1;
        let compared = exactly(array![large].view(), array![large - 1].view()).unwrap();
        assert!(!compared.passed() && compared.max_absolute_error == 1.0);
        let compared = exactly(array![large].view(), array![(large - 1) as f64].view()).unwrap();
        assert!(!compared.passed());
        let compared = exactly(array![(large - 1) as f64].view(), array![large].view()).unwrap();
        assert!(!compared.passed());
        for (float, integer, same) in [
            (2.0_f32, 2_i64, true),
            (2.5, 2, false),
            (f32::INFINITY, i64::MAX, false),
            (-0.0, 0, true),
        ] {
            let compared = exactly(array![float].view(), array![integer].view()).unwrap();
            assert_eq!(compared.passed(), same, "{float} and {integer}");
        }
        assert!(
            exactly(array![f64::NAN].view(), array![f64::NAN].view())
                .unwrap()
                .passed()
        );
        assert!(
            exactly(
                Array1::<u32>::zeros(0).view(),
                Array1::<u32>::zeros(0).view()
            )
            .is_ok_and(|empty| empty.passed())
        );
        let error = exactly(array![1_u32].view(), array![1_u32, 2].view()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the result has shape [1], the reference [2]"
        );
    }
}
