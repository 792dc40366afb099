//! Row-major and column-major order.

use super::out::Map;

/// Row-major: consecutive numbers are adjacent in a row.
#[derive(Clone, Copy, Debug)]
pub enum RowMajor {}

/// Column-major: consecutive numbers are adjacent in a column.
#[derive(Clone, Copy, Debug)]
pub enum ColMajor {}

impl Map for RowMajor {
    const NAME: [&'static str; 3] = ["RowMajor", "", ""];
}

impl Map for ColMajor {
    const NAME: [&'static str; 3] = ["ColMajor", "", ""];
}

/// [`RowMajor`] or [`ColMajor`] only: this trait is not exported.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no order of elements: `RowMajor` and `ColMajor` are"
)]
pub trait Order {
    /// Row after row.
    const BY_ROWS: bool;

    /// The row and the column of element `first + ahead` of a tile.
    #[inline(always)]
    fn place(first: usize, ahead: usize, rows: usize, cols: usize) -> (usize, usize) {
        if Self::BY_ROWS {
            in_lines(first, ahead, cols)
        } else {
            let (col, row) = in_lines(first, ahead, rows);
            (row, col)
        }
    }
}

/// The line of `length` elements that contains element `first + ahead`, and the position in it.
#[inline(always)]
fn in_lines(first: usize, ahead: usize, length: usize) -> (usize, usize) {
    // If `ahead` is a number of whole lines, a constant in unrolled code, the address is a constant
    // ahead.
    if ahead.is_multiple_of(length) {
        (first / length + ahead / length, first % length)
    } else {
        ((first + ahead) / length, (first + ahead) % length)
    }
}

impl Order for RowMajor {
    const BY_ROWS: bool = true;
}

impl Order for ColMajor {
    const BY_ROWS: bool = false;
}
