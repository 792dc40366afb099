//! The problems of reductions.

use blockwise::Type;

use crate::LaunchError;
use crate::operation::{self, Axis, Problem};

/// What is computed, in [`Problem::settings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    Sum,
    Min,
    Max,
    Dot,
    Mean,
    /// Indices of extremes: the first of equals.
    ArgMin,
    ArgMax,
}

/// How a problem is reduced, after its code in [`Problem::settings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// To one number.
    Whole,
    /// Along an axis.
    Lines,
    /// Along an axis that is a part of another one: to sums that are not rounded, or to indices and
    /// the extremes themselves.
    Parts,
}

impl Code {
    pub(super) fn of(problem: &Problem) -> Self {
        match problem.settings[0] {
            0 => Self::Sum,
            1 => Self::Min,
            2 => Self::Max,
            3 => Self::Dot,
            4 => Self::Mean,
            5 => Self::ArgMin,
            _ => Self::ArgMax,
        }
    }

    /// The code of the kernels: one kernel computes minima and maxima.
    pub(super) const fn of_kernel(self) -> u8 {
        match self {
            Self::Sum | Self::Mean => 0,
            Self::Min | Self::Max | Self::ArgMin | Self::ArgMax => 1,
            Self::Dot => 2,
        }
    }

    /// Whether it adds.
    pub(super) const fn is_sum(self) -> bool {
        matches!(self, Self::Sum | Self::Dot | Self::Mean)
    }

    /// Whether it gives indices.
    pub(super) const fn is_index(self) -> bool {
        matches!(self, Self::ArgMin | Self::ArgMax)
    }
}

impl Way {
    pub(super) fn of(problem: &Problem) -> Self {
        match problem.settings[1] {
            0 => Self::Whole,
            1 => Self::Lines,
            _ => Self::Parts,
        }
    }
}

/// Of an operation with this code: extents are those along the axis, before it, and after it.
pub(super) fn problem(ty: Type, code: Code, way: Way, axis: Axis) -> Result<Problem, LaunchError> {
    // NumPy refuses it too, even if the result has no elements.
    if axis.extent == 0 && !code.is_sum() {
        return Err(LaunchError::EmptyInput {
            what: match way {
                Way::Whole => "the operand of a minimum or maximum",
                Way::Lines | Way::Parts => "the axis of a minimum or maximum",
            },
        });
    }
    let outputs = axis.outer.checked_mul(axis.inner);
    // Along an axis of 0 the array has no elements, and its result may have more than can be counted.
    let what = "the result";
    let outputs = outputs.ok_or(LaunchError::SizeOverflow { what })?;
    let what = "an array";
    outputs
        .checked_mul(axis.extent)
        .ok_or(LaunchError::SizeOverflow { what })?;
    let problem = Problem::new(ty, &[axis.extent, axis.outer, axis.inner]);
    Ok(Problem {
        settings: [code as u8, way as u8],
        ..problem
    })
}

/// The argument `flip` of a kernel for elements of type `T`; 0 if it adds.
pub fn flip<T>(problem: &Problem) -> u64 {
    match Code::of(problem) {
        Code::Sum | Code::Dot | Code::Mean => 0,
        Code::Min | Code::ArgMin => operation::order(problem.ty, false).flip::<T>(),
        Code::Max | Code::ArgMax => operation::order(problem.ty, true).flip::<T>(),
    }
}

/// The argument `how` of a kernel along an axis: the divisor of a sum, or `flip`.
pub(super) fn how<T>(problem: &Problem) -> u64 {
    match Code::of(problem) {
        Code::Mean => problem.extents[0] as u64,
        code if code.is_sum() => 1,
        _ => flip::<T>(problem),
    }
}

/// What a problem's lines are.
pub(super) fn axis(problem: &Problem) -> Axis {
    let [extent, outer, inner, _] = problem.extents;
    Axis {
        outer,
        extent,
        inner,
    }
}
