//! Some outputs of a matrix product, where all of them would take the reference too long.

use std::cell::OnceCell;
use std::ops::Range;

use blockwise_ops::operation::{Asked, Expected, Near, Operation, Problem};
use blockwise_ops::{AnyArray, LaunchError};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{BenchError, Check, cores};

/// Rows that are compared, and columns.
const SAMPLED: usize = 8;
/// Runs of outputs that one thread computes.
const PIECES: usize = 64;

/// Whole rows and whole columns: the first, the last and some others.
#[derive(Default)]
pub(super) struct Cross {
    runs: Vec<Range<usize>>,
    /// Computed once.
    expected: OnceCell<Vec<Near>>,
}

impl Cross {
    /// A sample that follows from `seed`.
    pub(super) fn new(problem: &Problem, seed: u64) -> Self {
        let [rows, _, cols, batch] = problem.extents;
        // Rows of all products of a batch.
        let rows = rows * batch;
        let mut random = StdRng::seed_from_u64(seed);
        let mut chosen = |extent: usize| {
            let mut chosen = vec![0, extent - 1];
            chosen.extend((2..SAMPLED).map(|_| random.random_range(0..extent)));
            chosen.sort_unstable();
            chosen.dedup();
            chosen
        };
        let (whole, single) = (chosen(rows), chosen(cols));
        let runs = (0..rows).flat_map(|row| {
            let of_row = whole.contains(&row).then_some(row * cols..(row + 1) * cols);
            let elements = single.iter().map(move |&col| {
                let at = row * cols + col;
                at..at + 1
            });
            let elements = elements.filter(|_| !whole.contains(&row));
            of_row.into_iter().chain(elements).collect::<Vec<_>>()
        });
        Self {
            runs: runs.collect(),
            expected: OnceCell::new(),
        }
    }

    /// Compares those outputs, and looks for others that were not written.
    pub(super) fn check(
        &self,
        operation: &Operation,
        problem: &Problem,
        inputs: impl Fn() -> Result<Vec<AnyArray>, LaunchError>,
        result: &AnyArray,
    ) -> Result<Check, BenchError> {
        let expected = match self.expected.get() {
            Some(expected) => expected,
            None => {
                let expected = self.reference(operation, problem, &inputs()?)?;
                self.expected.get_or_init(|| expected)
            }
        };
        // The inputs are finite: a NaN was not written.
        let how = format!("{SAMPLED} rows and {SAMPLED} columns, all written");
        let mut check = Check::exact(how, cores::unwritten(result));
        let places = self.runs.iter().cloned().flatten();
        check.wrong += self
            .runs
            .iter()
            .map(Range::len)
            .sum::<usize>()
            .abs_diff(expected.len()) as u64;
        for (at, near) in places.zip(expected) {
            check.near(problem.ty, result.number(at).to_f64(), near);
        }
        Ok(check)
    }

    fn reference(
        &self,
        operation: &Operation,
        problem: &Problem,
        inputs: &[AnyArray],
    ) -> Result<Vec<Near>, BenchError> {
        let size = self.runs.len().div_ceil(PIECES).max(1);
        let pieces = cores::each(self.runs.chunks(size), |runs| {
            let expected = (operation.reference)(Asked {
                problem,
                inputs,
                runs,
                before: &mut [0; 4],
            })?;
            Ok(match expected {
                Expected::Near(near) => near,
                Expected::Exact(_) => Vec::new(),
            })
        });
        let pieces = pieces
            .into_iter()
            .collect::<Result<Vec<_>, LaunchError>>()?;
        Ok(pieces.into_iter().flatten().collect())
    }
}
