//! Reductions: each part of a problem has a total, and totals are merged in order and rounded once.

use blockwise::Type;

use super::{Parts, Plan, Problem, Task};
use crate::array::AnyArray;
use crate::{LaunchError, named_enum};

named_enum! {
    /// How totals are merged.
    pub enum Reduction("reduction") {
        /// The sum; 0 for no elements. Integers wrap around, as in NumPy.
        Sum = "sum",
        /// The smallest element; NaN if there is one, with its sign and payload.
        Min = "min",
        /// The largest element; NaN if there is one, with its sign and payload.
        Max = "max",
    }
}

/// How a problem is folded to one number, or, along an axis, to one for each line.
///
/// A launch writes its blocks' results, [`bytes`](Self::bytes) each, to
/// [`Operands::after`](super::Operands::after).
pub struct Fold {
    /// How totals are merged.
    pub by: Reduction,
    /// Whether the result is the index of an extreme, not the extreme itself.
    pub is_index: bool,
    /// Whether a sum is divided by the number of its terms.
    pub is_mean: bool,
    /// Whether a problem folds all elements to one number, not each line along an axis.
    pub is_whole: fn(&Problem) -> bool,
    /// Bytes of a block's result.
    pub bytes: fn(Type) -> usize,
    /// The number of results that the host merges: those of a launch's first blocks.
    pub results: fn(&Plan) -> usize,
    /// Merges these results and rounds the sum or extreme.
    pub number: fn(&Problem, &[u8]) -> Result<AnyArray, LaunchError>,
    /// The largest error of a result before rounding, relative to the sum of its terms' magnitudes;
    /// `None` if it is exact.
    pub error: fn(&Task<'_>) -> Option<f64>,
    /// The most roundings between a term and the sum in other libraries, by the number of terms.
    pub path: fn(usize) -> usize,
}

impl Fold {
    /// Bytes of the results of all blocks of a launch.
    pub fn room(&self, problem: &Problem, plan: &Plan) -> usize {
        plan.launch.grid[0] as usize * (self.bytes)(problem.ty)
    }

    /// Bytes of the results that the host merges.
    pub fn left(&self, problem: &Problem, plan: &Plan) -> usize {
        (self.results)(plan) * (self.bytes)(problem.ty)
    }
}

impl Parts {
    /// How a problem is folded to one number, if it is.
    pub fn fold(self, problem: &Problem) -> Option<&'static Fold> {
        match self {
            Self::Folded(fold) if (fold.is_whole)(problem) => Some(fold),
            _ => None,
        }
    }
}
