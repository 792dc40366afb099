//! Row after row, or column after column.

/// Row after row: neighbouring numbers are neighbours in a row.
#[derive(Clone, Copy, Debug)]
pub enum RowMajor {}

/// Column after column: neighbouring numbers are neighbours in a column.
#[derive(Clone, Copy, Debug)]
pub enum ColMajor {}

/// [`RowMajor`] or [`ColMajor`], and nothing else: this trait is not exported.
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

/// The line of `length` elements in which element `first + ahead` lies, and its place there.
#[inline(always)]
fn in_lines(first: usize, ahead: usize, length: usize) -> (usize, usize) {
    // Whole lines ahead, a constant in unrolled code, lead to an address that is a constant ahead.
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
