//! Reductions over one axis of an array: one thread per output.
//!
//! output\[o · inner + i\] = op over k < extent of input\[(o · extent + k) · inner + i\], for an
//! array of outer × extent × inner elements. The input is a matrix of outer · extent rows: an
//! output folds `extent` rows of one column. A [sum](super::addend) is added in runs of 1024 rows,
//! and each run goes into a total.
//!
//! - Thread t owns output t and every further one a grid's size apart; no thread waits for another.
//! - One global read per input element. Adjacent threads read adjacent columns (coalesced), except
//!   over the last axis (inner = 1), where each reads its own row.
//! - The loads of a group are in flight together.

#![forbid(unsafe_code)]

use core::ops::Range;

use cuda_std::block::Column;
use cuda_std::prelude::*;
use cuda_std::unroll::fold_groups;

use super::{Addend, Extreme, Op, Sum};

/// Rows whose loads are in flight together.
const GROUP: usize = 8;

/// Folds a run of rows of a column into four values in turn, whose chains of additions are a
/// quarter as long; into one, if values have two words.
#[inline(always)]
fn fold_run<T: Addend, O: Op>(column: Column<T>, rows: Range<usize>, flip: u64) -> O::Value<T> {
    let fold = |value, row| O::fold(value, O::turned(row, flip));
    if size_of::<O::Value<T>>() > size_of::<u64>() {
        return fold_groups::<GROUP, _, _>(column, rows, O::start::<T>(), fold);
    }
    let [a, b, c, d] =
        fold_groups::<GROUP, _, _>(column, rows, [O::start::<T>(); 4], |[a, b, c, d], row| {
            [b, c, d, fold(a, row)]
        });
    O::merge::<T>(O::merge::<T>(a, b), O::merge::<T>(c, d))
}

/// Folds `extent` rows of `input` into each row of `output`, which has the same number of columns.
///
/// # Launch
/// One-dimensional blocks of any size, any grid.
#[kernel(
    instances((i64 | f32 | f64, Sum | Extreme)),
    name = "{O}_axis_{T}",
    require(input.rows().checked_mul(input.cols()) == extent.checked_mul(output.len()))
)]
pub fn fold_axis<T: Addend, O: Op>(
    block: &mut Block,
    input: Matrix<T>,
    mut output: Out<T>,
    extent: usize,
    flip: u64,
) {
    let inner = input.cols();
    for run in block.tiles_of(output.len()) {
        output.store(block, run, |i| {
            let outer = i.checked_div(inner).unwrap_or(0);
            let column = input.col(i - outer * inner);
            let rows = outer * extent..(outer + 1) * extent;
            O::over(rows, flip, |run| fold_run::<T, O>(column, run, flip))
        });
    }
}

/// Adds `extent` rows of `input`, at most [`RUN`](super::RUN), into each row of `partials`, which
/// has the same number of columns: [`fold_axis`] without totals, for arrays that arrive in pieces.
///
/// # Launch
/// One-dimensional blocks of any size, any grid.
#[kernel(
    instances(f32, f64),
    require(input.rows().checked_mul(input.cols()) == extent.checked_mul(partials.len()))
)]
pub fn sum_runs<T: Addend>(
    block: &mut Block,
    input: Matrix<T>,
    mut partials: Out<<T as Addend>::Partial>,
    extent: usize,
) {
    let inner = input.cols();
    for run in block.tiles_of(partials.len()) {
        partials.store(block, run, |i| {
            let outer = i.checked_div(inner).unwrap_or(0);
            let column = input.col(i - outer * inner);
            let rows = outer * extent..(outer + 1) * extent;
            fold_run::<T, Sum>(column, rows, 0)
        });
    }
}
