//! [`Elements`]: the sources of folds, indexed without a bounds check per element.

use core::marker::PhantomData;

use crate::Plain;

/// Elements that a fold reads in any order: slices, [`Reversed`] slices, columns of a matrix, and
/// pairs of those, with the shorter length.
///
/// # Safety
/// For every index below `len`, which never changes, `get` reads only the memory of its element.
#[allow(
    clippy::len_without_is_empty,
    reason = "a fold of nothing needs no case of its own"
)]
pub unsafe trait Elements: Copy {
    /// An element.
    type Item: Copy;

    /// The number of elements.
    fn len(&self) -> usize;

    /// An element.
    ///
    /// # Safety
    /// `index` is below the length.
    unsafe fn get(&self, index: usize) -> Self::Item;
}

// SAFETY: the slice's own elements.
unsafe impl<T: Copy> Elements for &[T] {
    type Item = T;

    #[inline(always)]
    fn len(&self) -> usize {
        (**self).len()
    }

    #[inline(always)]
    unsafe fn get(&self, index: usize) -> T {
        // SAFETY: passed on to the caller.
        unsafe { *self.get_unchecked(index) }
    }
}

// SAFETY: an index below the shorter length is below both.
unsafe impl<A: Elements, B: Elements> Elements for (A, B) {
    type Item = (A::Item, B::Item);

    #[inline(always)]
    fn len(&self) -> usize {
        let (a, b) = (self.0.len(), self.1.len());
        if a < b { a } else { b }
    }

    #[inline(always)]
    unsafe fn get(&self, index: usize) -> Self::Item {
        // SAFETY: passed on to the caller.
        unsafe { (self.0.get(index), self.1.get(index)) }
    }
}

/// The same elements, last one first: the window of a convolution, paired with its taps.
#[derive(Clone, Copy, Debug)]
pub struct Reversed<'a, T>(pub &'a [T]);

// SAFETY: len − 1 − index is below the length as index is.
unsafe impl<T: Copy> Elements for Reversed<'_, T> {
    type Item = T;

    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    unsafe fn get(&self, index: usize) -> T {
        // Relative to the end, whose address is the same for every index.
        // SAFETY: passed on to the caller.
        unsafe { *self.0.as_ptr().add(self.0.len()).sub(1).sub(index) }
    }
}

/// A column of a [`Matrix`](super::Matrix), top to bottom: [`Matrix::col`](super::Matrix::col).
#[derive(Clone, Copy, Debug)]
pub struct Column<'a, T> {
    /// Not dereferenceable in a column without rows.
    first: *const T,
    rows: usize,
    cols: usize,
    elements: PhantomData<&'a [T]>,
}

impl<T: Plain> Column<'_, T> {
    /// `rows` elements, `cols` apart.
    ///
    /// # Safety
    /// They are initialised, and not written meanwhile.
    #[inline(always)]
    pub(super) unsafe fn new(first: *const T, rows: usize, cols: usize) -> Self {
        Self {
            first,
            rows,
            cols,
            elements: PhantomData,
        }
    }

    /// The element in a row, if there is one.
    #[inline(always)]
    pub fn get(&self, row: usize) -> Option<T> {
        // SAFETY: below the number of rows.
        (row < self.rows).then(|| unsafe { Elements::get(self, row) })
    }
}

// SAFETY: the promise of `new`.
unsafe impl<T: Plain> Elements for Column<'_, T> {
    type Item = T;

    #[inline(always)]
    fn len(&self) -> usize {
        self.rows
    }

    #[inline(always)]
    unsafe fn get(&self, index: usize) -> T {
        // SAFETY: passed on to the caller.
        unsafe { self.first.add(index * self.cols).read() }
    }
}
