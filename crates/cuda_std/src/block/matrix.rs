//! [`Matrix`]: a row-major input matrix.

use core::marker::PhantomData;

use super::Column;
use crate::Plain;

/// A row-major input matrix. The launch passes `(&buffer, rows, cols)` for this parameter.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// sums\[r\] = the sum of row r
/// #[kernel(require(sums.len() == a.rows()))]
/// pub fn row_sums(a: Matrix<f32>, mut sums: Out<f32>) {
///     for (r, sum) in sums.mine() {
///         *sum = a.row(r).iter().sum();
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T: Plain> {
    first: *const T,
    rows: usize,
    cols: usize,
    elements: PhantomData<&'a [T]>,
}

/// The most rows, and the most columns: LLVM then drops the bound in `tiles_x` and `tiles_y`.
pub(super) const MOST: usize = isize::MAX as usize;

impl<'a, T: Plain> Matrix<'a, T> {
    /// A matrix that lives as long as the borrow of `launch`.
    ///
    /// # Safety
    /// `first` points to `rows · cols` initialised elements, which nothing writes while the matrix
    /// lives. The product does not overflow. Neither `rows` nor `cols` exceeds `isize::MAX`, even if the
    /// other one is 0.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn new<S>(launch: &'a S, first: *const T, rows: usize, cols: usize) -> Self {
        let _ = launch;
        // SAFETY: the caller's promise.
        unsafe { core::hint::assert_unchecked(rows <= MOST && cols <= MOST) };
        Self {
            first,
            rows,
            cols,
            elements: PhantomData,
        }
    }

    /// The number of rows.
    #[inline(always)]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    #[inline(always)]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// An element, if there is one.
    #[inline(always)]
    pub fn get(&self, row: usize, col: usize) -> Option<&'a T> {
        if row < self.rows && col < self.cols {
            // SAFETY: just compared; the product is below `rows · cols`.
            Some(unsafe { &*self.first.add(row * self.cols + col) })
        } else {
            None
        }
    }

    /// An element, or the default (zero) outside the matrix.
    #[inline(always)]
    pub fn or_default(&self, row: usize, col: usize) -> T
    where
        T: Default,
    {
        // One condition, so that the load is one predicated instruction.
        if (row < self.rows) & (col < self.cols) {
            // SAFETY: as in `get`.
            unsafe { self.first.add(row * self.cols + col).read() }
        } else {
            T::default()
        }
    }

    /// A row; empty if the matrix does not have it.
    #[inline(always)]
    pub fn row(&self, row: usize) -> &'a [T] {
        let len = if row < self.rows { self.cols } else { 0 };
        // A row without elements starts at the matrix's start.
        let first = if len > 0 { row * self.cols } else { 0 };
        // SAFETY: the row lies in the matrix.
        unsafe { core::slice::from_raw_parts(self.first.add(first), len) }
    }

    /// A column; empty if the matrix does not have it.
    #[inline(always)]
    pub fn col(&self, col: usize) -> Column<'a, T> {
        let rows = if col < self.cols { self.rows } else { 0 };
        // SAFETY: element i of an existing column is i · cols after its first.
        unsafe { Column::new(self.first.wrapping_add(col), rows, self.cols) }
    }

    /// All elements, row after row.
    #[inline(always)]
    pub fn as_slice(&self) -> &'a [T] {
        // SAFETY: the promise of `new`.
        unsafe { core::slice::from_raw_parts(self.first, self.rows * self.cols) }
    }

    /// A pointer to the first element, for kernels with `unsafe` inside.
    #[inline(always)]
    pub fn as_ptr(&self) -> *const T {
        self.first
    }
}
