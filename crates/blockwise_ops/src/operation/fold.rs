//! Operations whose result is one number: a problem's parts have totals, which are merged in order
//! and rounded once.

use blockwise::Type;

use super::{Plan, Problem, Task};
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

/// How a problem is folded to one number. Along an axis it has a result for each line instead.
///
/// A launch leaves the results of its blocks, [`bytes`](Self::bytes) each, where
/// [`Operands::after`](super::Operands::after) says.
pub struct Fold {
    /// How totals are merged.
    pub by: Reduction,
    /// Whether the result is an index, of an extreme: no number that its totals come to.
    pub is_index: bool,
    /// Whether all elements are folded, not those of each line along an axis.
    pub is_whole: fn(&Problem) -> bool,
    /// Bytes of a block's result.
    pub bytes: fn(Type) -> usize,
    /// How many results a launch leaves for the host to merge, the first ones of its blocks.
    pub results: fn(&Plan) -> usize,
    /// What such results come to, rounded.
    pub number: fn(&Problem, &[u8]) -> Result<AnyArray, LaunchError>,
    /// What a result may be off before it is rounded, as a part of the sum of its terms' magnitudes;
    /// `None` if it is exact.
    pub error: fn(&Task<'_>) -> Option<f64>,
    /// Roundings from a term to the sum, for a given number of terms, as other libraries add them.
    pub path: fn(usize) -> usize,
}

impl Fold {
    /// Bytes of the results of a launch's blocks.
    pub fn room(&self, problem: &Problem, plan: &Plan) -> usize {
        plan.launch.grid[0] as usize * (self.bytes)(problem.ty)
    }

    /// Bytes of those that the host merges.
    pub fn left(&self, problem: &Problem, plan: &Plan) -> usize {
        (self.results)(plan) * (self.bytes)(problem.ty)
    }
}
