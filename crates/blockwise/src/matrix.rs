//! A matrix on a device.

use std::fmt;

use launch_contract::launch::Plain;

use crate::View;

/// A row-major matrix on a device, for reading.
pub struct Matrix<'a, T: Plain> {
    /// Its elements, row after row.
    pub view: View<'a, T>,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
}

impl<'a, T: Plain> Matrix<'a, T> {
    /// A matrix of these elements. Does not check that there are `rows` · `cols` of them: the
    /// function that the matrix is passed to does.
    pub fn new(view: impl Into<View<'a, T>>, rows: usize, cols: usize) -> Self {
        let view = view.into();
        Self { view, rows, cols }
    }
}

impl<T: Plain> Clone for Matrix<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Plain> Copy for Matrix<'_, T> {}

impl<T: Plain> fmt::Debug for Matrix<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} x {} {}", self.rows, self.cols, T::NAME)
    }
}
