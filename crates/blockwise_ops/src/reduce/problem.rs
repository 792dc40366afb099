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
}

/// How a problem is reduced, after its code in [`Problem::settings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// To one number.
    Whole,
    /// Along an axis.
    Lines,
    /// Along an axis of at most [`RUN`](kernels::reduce::RUN) elements, to sums that are not rounded.
    Runs,
}

impl Code {
    pub(super) fn of(problem: &Problem) -> Self {
        match problem.settings[0] {
            0 => Self::Sum,
            1 => Self::Min,
            2 => Self::Max,
            _ => Self::Dot,
        }
    }

    /// The code of the kernels that do it: one kernel is for minima and maxima.
    pub(super) const fn of_kernel(self) -> u8 {
        match self {
            Self::Sum => 0,
            Self::Min | Self::Max => 1,
            Self::Dot => 2,
        }
    }

    /// Whether it adds.
    pub(super) fn is_sum(self) -> bool {
        matches!(self, Self::Sum | Self::Dot)
    }
}

impl Way {
    pub(super) fn of(problem: &Problem) -> Self {
        match problem.settings[1] {
            0 => Self::Whole,
            1 => Self::Lines,
            _ => Self::Runs,
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
                Way::Lines | Way::Runs => "the axis of a minimum or maximum",
            },
        });
    }
    let len = axis.outer.checked_mul(axis.extent);
    let what = "an array";
    len.and_then(|len| len.checked_mul(axis.inner))
        .ok_or(LaunchError::SizeOverflow { what })?;
    let problem = Problem::new(ty, &[axis.extent, axis.outer, axis.inner]);
    Ok(Problem {
        settings: [code as u8, way as u8],
        ..problem
    })
}

/// What a kernel of extremes is given as `flip`, for elements of type `T`; 0 where it adds.
pub fn flip<T>(problem: &Problem) -> u64 {
    match Code::of(problem) {
        Code::Sum | Code::Dot => 0,
        Code::Min => operation::order(problem.ty, false).flip::<T>(),
        Code::Max => operation::order(problem.ty, true).flip::<T>(),
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
