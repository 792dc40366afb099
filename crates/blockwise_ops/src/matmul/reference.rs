//! The reference of matrix products: sums in float64, each with an error bound for any order of
//! additions.

use std::collections::HashMap;

use blockwise::{Type, Typed};
use bytemuck::Pod;

use super::{extents, of_a};
use crate::operation::{Asked, Expected, Near};
use crate::oracle::{Precision, Sum, blas_path};
use crate::{AnyArray, LaunchError};

pub(super) fn reference(asked: Asked<'_>) -> Result<Expected, LaunchError> {
    match asked.problem.ty {
        Type::F32 => of::<f32>(&asked),
        _ => of::<f64>(&asked),
    }
}

fn of<T: Precision + Typed + Pod>(asked: &Asked<'_>) -> Result<Expected, LaunchError> {
    let [rows, inner, cols] = extents(asked.problem);
    let shares_a = of_a(asked.problem) == 1;
    let elements = |at: usize, what| {
        asked
            .inputs
            .get(at)
            .and_then(AnyArray::typed::<T>)
            .ok_or(LaunchError::OperandType {
                what,
                wanted: asked.problem.ty,
                given: asked.inputs.get(at).map(AnyArray::ty),
            })
    };
    let (a, b) = (elements(0, "a")?, elements(1, "b")?);
    // Columns of B, kept for short runs: the next one may need the same columns.
    let mut columns = HashMap::new();
    let mut near = Vec::new();
    for run in asked.runs {
        let mut at = run.start;
        while at < run.end {
            // The row is counted through all products of the batch.
            let (row, first) = (at / cols, at % cols);
            let last = cols.min(first + run.end - at);
            let matrix = row / rows;
            let of_a = if shares_a { row % rows } else { row };
            let a = &a[of_a * inner..][..inner];
            let b = &b[matrix * inner * cols..][..inner * cols];
            let mut sums = vec![Sum::default(); last - first];
            if sums.len() < FEW {
                for (sum, col) in sums.iter_mut().zip(first..) {
                    let column = columns.entry((matrix, col)).or_insert_with(|| -> Vec<T> {
                        b.iter().skip(col).step_by(cols).copied().collect()
                    });
                    (a.iter().zip(column)).for_each(|(&a, &mut b)| sum.add(a.into(), b.into()));
                }
            } else {
                // By rows of B, so that a large product takes seconds, not minutes.
                for (&a, b) in a.iter().zip(b.chunks_exact(cols)) {
                    let pairs = sums.iter_mut().zip(&b[first..last]);
                    pairs.for_each(|(sum, &b)| sum.add(a.into(), b.into()));
                }
            }
            near.extend(sums.into_iter().map(|sum| Near {
                value: sum.value(),
                tolerance: sum.tolerance::<T>(),
                magnitude: sum.magnitude(),
                terms: blas_path(inner),
            }));
            at += last - first;
        }
    }
    Ok(Expected::Near(near))
}

/// Runs shorter than this are computed from columns of B, others from its rows.
const FEW: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Problem;
    use std::ops::Range;

    /// All outputs, one column, and runs that begin and end anywhere.
    #[test]
    fn any_run_of_outputs_has_the_oracles_values() {
        let (rows, inner, cols) = (5, 7, 9);
        let matrix = |rows: usize, cols: usize| {
            ndarray::Array2::from_shape_fn((rows, cols), |(i, j)| ((i * 31 + j * 17) % 13) as f32)
        };
        let (a, b) = (matrix(rows, inner), matrix(inner, cols));
        let oracle = crate::oracle::matmul(a.view(), b.view());
        let inputs = [&a, &b].map(|it| AnyArray::of(it.view().into_dyn()).unwrap());
        let columns: Vec<Range<usize>> = (0..rows)
            .map(|row| row * cols + 4..row * cols + 5)
            .collect();
        let whole = Vec::from([Range {
            start: 0,
            end: rows * cols,
        }]);
        for runs in [whole, columns, vec![2..3, 7..30, 40..45]] {
            let expected = reference(Asked {
                problem: &Problem::new(Type::F32, &[rows, inner, cols]),
                inputs: &inputs,
                runs: &runs,
                before: &mut [0; 4],
            });
            let Expected::Near(near) = expected.unwrap() else {
                panic!("products are rounded");
            };
            for (near, at) in near.iter().zip(runs.into_iter().flatten()) {
                let place = (at / cols, at % cols);
                assert_eq!(near.value, oracle.values[place], "{place:?}");
                assert_eq!(near.tolerance, oracle.tolerance[place], "{place:?}");
            }
        }
    }
}
