//! An operation at a size: all that a launch depends on but memory.

use std::ops::Range;

use blockwise::Type;

/// An operation's type, extents and settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    /// The type of the computation.
    pub ty: Type,
    /// The operation's own extents, in its own order; 1 beyond them.
    pub extents: [usize; 4],
    /// For each [setting](super::Setting) but an axis the index of its value; beyond them what
    /// [`pose`](super::Operation::pose) says, such as which of several operations that share
    /// kernels it is.
    pub settings: [u8; 2],
    /// For an operation on each row of matrices: each operand's number of rows, or 1 if its row
    /// serves all rows. For any other operation 1.
    pub rows: [usize; 2],
}

impl Problem {
    /// With default settings, of one row.
    ///
    /// # Panics
    /// With more than four extents.
    pub fn new(ty: Type, extents: &[usize]) -> Self {
        let mut all = [1; 4];
        all[..extents.len()].copy_from_slice(extents);
        Self {
            ty,
            extents: all,
            settings: [0; 2],
            rows: [1; 2],
        }
    }
}

impl Problem {
    /// Rows of the result.
    pub fn all_rows(&self) -> usize {
        match self.rows {
            [1, rows] | [rows, _] => rows,
        }
    }

    /// The problem of a single row.
    #[must_use]
    pub fn row(&self) -> Self {
        let rows = [1; 2];
        Self { rows, ..*self }
    }

    /// Runs of a matrix' outputs as runs of single rows: the row's number, and the run in it. `len`
    /// is a row's length.
    pub fn in_rows(runs: &[Range<usize>], len: usize) -> Vec<(usize, Range<usize>)> {
        let mut all = Vec::new();
        for run in runs {
            let mut start = run.start;
            while start < run.end {
                let row = start / len;
                let end = run.end.min((row + 1) * len);
                all.push((row, start - row * len..end - row * len));
                start = end;
            }
        }
        all
    }

    /// The product of the extents; on overflow, a number that no buffer's length can have.
    pub fn product(&self) -> usize {
        self.extents.iter().copied().fold(1, usize::saturating_mul)
    }

    /// The size of `elements` elements in bytes.
    pub(crate) fn bytes(&self, elements: usize) -> u64 {
        (elements as u64).saturating_mul(self.ty.bytes() as u64)
    }
}

/// What a caller sets besides the operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Given {
    /// For each setting but an axis the index of its value.
    pub settings: [u8; 2],
    /// The axis, from the back if negative; `None` for the whole array.
    pub axis: Option<isize>,
}

/// The problem that a caller's operands and settings pose.
#[derive(Clone, Debug, PartialEq)]
pub struct Posed {
    /// The problem.
    pub problem: Problem,
    /// The result's shape.
    pub result: Vec<usize>,
}

/// Elements of a problem's operands; 0 where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lens {
    /// Of the inputs.
    pub inputs: [usize; 2],
    /// Of the output.
    pub output: usize,
}

/// The least work that a problem needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Bytes: each input read once, each output written once.
    pub bytes: u64,
    /// Arithmetic operations.
    pub operations: u64,
}
