//! The references of sums, minima, maxima and dot products, one line after the other.

use blockwise::{Type, Typed};
use bytemuck::Pod;

use super::Number;
use super::problem::{Code, axis};
use crate::LaunchError;
use crate::array::AnyArray;
use crate::operation::{Asked, Expected, Near, Problem};
use crate::oracle::{self, Exact, Precision};

/// Sums of floats are exact and rounded once; what kernels may be off beside, as
/// [`addend`](kernels::reduce::addend) derives it for the launcher's own choices, is in their
/// tolerance.
pub(super) fn reference(asked: Asked<'_>) -> Result<Expected, LaunchError> {
    let code = Code::of(asked.problem);
    if code.is_index() {
        return match asked.problem.ty {
            Type::F32 => indices::<f32>(&asked),
            Type::F64 => indices::<f64>(&asked),
            Type::U64 => indices::<u64>(&asked),
            _ => indices::<i64>(&asked),
        };
    }
    match (code.is_sum(), asked.problem.ty) {
        (true, Type::F32) => Ok(sums::<f32>(&asked, 2.0_f64.powi(-41))),
        (true, Type::F64) => Ok(sums::<f64>(&asked, 2.0_f64.powi(-80))),
        (_, Type::F32) => exact::<f32>(&asked),
        (_, Type::F64) => exact::<f64>(&asked),
        (_, Type::U64) => exact::<u64>(&asked),
        _ => exact::<i64>(&asked),
    }
}

/// The places of a line's elements.
fn line(problem: &Problem, at: usize) -> impl Iterator<Item = usize> + Clone {
    let axis = axis(problem);
    let inner = axis.inner.max(1);
    let first = at / inner * axis.extent * inner + at % inner;
    (0..axis.extent).map(move |k| first + k * inner)
}

fn values<'a, T: Typed + Pod>(asked: &'a Asked<'_>, operand: usize) -> &'a [T] {
    let array = asked.inputs.get(operand);
    array.and_then(AnyArray::typed).unwrap_or_default()
}

fn sums<T: Precision>(asked: &Asked<'_>, error: f64) -> Expected {
    let [a, b] = [0, 1].map(|operand| values::<T>(asked, operand));
    let code = Code::of(asked.problem);
    let is_dot = code == Code::Dot;
    // A mean is the exact sum rounded to float64, and divided.
    let (by, divided) = match code {
        Code::Mean => (asked.problem.extents[0] as f64, 2.0 * f64::UNIT_ROUNDOFF),
        _ => (1.0, 0.0),
    };
    let outputs = asked.runs.iter().cloned().flatten();
    let near = outputs.map(|output| {
        let mut sum = Exact::default();
        for at in line(asked.problem, output) {
            match is_dot {
                true => sum.add_product(a[at].into(), b[at].into()),
                false => sum.add(a[at].into()),
            }
        }
        let value = sum.nearest::<f64>() / by;
        let magnitude = sum.magnitude() / by;
        // Each product may underflow by up to half of the smallest number.
        let lost = match is_dot {
            true => T::SMALLEST * (sum.terms() as f64 / 2.0),
            false => 0.0,
        };
        let rounding = (T::UNIT_ROUNDOFF * value.abs()).max(T::SMALLEST / 2.0);
        let rounding = rounding + divided * value.abs();
        let tolerance = rounding + error * magnitude + lost;
        Near {
            value,
            // If the sum itself is infinite or NaN, there is no tolerance.
            tolerance: if tolerance.is_finite() {
                tolerance
            } else {
                0.0
            },
            magnitude,
            terms: sum.terms(),
        }
    });
    Expected::Near(near.collect())
}

fn exact<T: Number>(asked: &Asked<'_>) -> Result<Expected, LaunchError> {
    let [a, b] = [0, 1].map(|operand| values::<T>(asked, operand));
    let len = asked.runs.iter().map(ExactSizeIterator::len).sum();
    let mut array = AnyArray::zeros(asked.problem.ty, &[len])?;
    let results: &mut [T] = bytemuck::cast_slice_mut(array.bytes_mut());
    for (result, output) in results.iter_mut().zip(asked.runs.iter().cloned().flatten()) {
        let line = line(asked.problem, output);
        let elements = line.clone().map(|at| a[at]);
        *result = match Code::of(asked.problem) {
            Code::Sum | Code::Mean => elements.fold(T::ZERO, T::add),
            Code::Dot => line.fold(T::ZERO, |sum, at| a[at].mul_add(b[at], sum)),
            Code::Min | Code::ArgMin => oracle::least(elements).unwrap_or_default(),
            Code::Max | Code::ArgMax => oracle::greatest(elements).unwrap_or_default(),
        };
    }
    Ok(Expected::Exact(array))
}

fn indices<T: Number>(asked: &Asked<'_>) -> Result<Expected, LaunchError> {
    let values = values::<T>(asked, 0);
    let is_greatest = Code::of(asked.problem) == Code::ArgMax;
    let is_nan = |value: T| value.partial_cmp(&value).is_none();
    let is_better = |a: T, b: T| match is_greatest {
        _ if is_nan(b) => false,
        true => a > b || is_nan(a),
        false => a < b || is_nan(a),
    };
    let outputs = asked.runs.iter().cloned().flatten();
    let indices = outputs.map(|output| {
        let line = line(asked.problem, output).map(|at| values[at]).enumerate();
        let first = line.reduce(|best, next| {
            if is_better(next.1, best.1) {
                next
            } else {
                best
            }
        });
        first.map_or(0, |(at, _)| at as i64)
    });
    let indices: Vec<_> = indices.collect();
    let array = AnyArray::of(ndarray::ArrayView1::from(&indices).into_dyn())?;
    Ok(Expected::Exact(array))
}
