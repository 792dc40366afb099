//! [`OutMatrix`]: an output matrix in tiles.

use core::fmt;
use core::marker::PhantomData;

use super::Block;
use super::matrix::MOST;
use super::order::{Order, RowMajor};
use super::tiles::{AlongX, AlongY, TileRange};
use crate::Plain;
use crate::opaque::opaque;
use crate::unroll::{Calls, counted};

/// An output matrix in tiles of `R` × `C` elements, each owned by one block. The launch passes
/// `(&mut buffer, rows, cols)` for this parameter.
///
/// The block at column x and row y of the grid has the tiles that [`Block::tiles_x`] and
/// [`Block::tiles_y`] return. Inside a tile, thread (x, y) of an `X` × `Y` block has every `Y`-th
/// row from y on, and of those every `X`-th column from x on. If `Threads` is [`ColMajor`], rows
/// and columns are swapped: every `X`-th row from x on, and every `Y`-th column from y on.
///
/// Elements are row-major, or column-major if `Layout` is [`ColMajor`]. Unless only one of the two
/// is set, threads adjacent along x store adjacent elements. [`Tile`](super::Tile) has an example.
///
/// [`ColMajor`]: super::ColMajor
pub struct OutMatrix<
    'a,
    T: Plain,
    const R: usize,
    const C: usize,
    Layout = RowMajor,
    Threads = Layout,
> {
    first: *mut T,
    rows: usize,
    cols: usize,
    // Not `Send`, like `Out`.
    memory: PhantomData<(&'a mut [T], *mut (Layout, Threads))>,
}

/// An element of a tile that belongs to the current thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// Its row in the tile.
    pub row: usize,
    /// Its column in the tile.
    pub col: usize,
    /// Its row in the matrix: below [`OutMatrix::rows`], which the compiler knows.
    pub at_row: usize,
    /// Its column in the matrix: below [`OutMatrix::cols`].
    pub at_col: usize,
    /// Which of the thread's rows it is: a constant in each call if a thread has at most 32 rows
    /// and 32 columns of a tile.
    pub i: usize,
    /// Which of the thread's columns it is: a constant under the same condition.
    pub j: usize,
}

impl<'a, T: Plain, const R: usize, const C: usize, Layout, Threads>
    OutMatrix<'a, T, R, C, Layout, Threads>
{
    /// The output of this thread, for as long as the borrow of `launch`.
    ///
    /// # Safety
    /// As for [`Out::new`](super::Out), with `rows · cols` elements, a number that does not
    /// overflow, and neither of them above `isize::MAX`; the grid has one plane.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn new<S>(launch: &'a S, first: *mut T, rows: usize, cols: usize) -> Self {
        const { assert!(R > 0 && C > 0, "a tile has rows and columns") };
        const {
            assert!(
                size_of::<T>() > 0,
                "an output of elements without bytes has nothing to write"
            )
        };
        let _ = launch;
        // SAFETY: the caller's promise.
        unsafe { core::hint::assert_unchecked(rows <= MOST && cols <= MOST) };
        Self {
            first,
            rows,
            cols,
            memory: PhantomData,
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

    /// A pointer to the first element, for kernels with `unsafe` inside, which are then responsible
    /// for ownership.
    #[inline(always)]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.first
    }
}

impl<T: Plain, const R: usize, const C: usize, Layout: Order, Threads: Order>
    OutMatrix<'_, T, R, C, Layout, Threads>
{
    /// Stores this thread's elements of the tile that are inside the matrix; `value` is called for
    /// each.
    // The compiler shows the line of the name for an argument of another type.
    #[rustfmt::skip]
    #[inline(always)]
    pub fn store<const X: usize, const Y: usize>( // `for top in block.tiles_y::<R>(c.rows())`, `left in block.tiles_x::<C>(c.cols())`
        &mut self,
        block: &Block<X, Y>,
        top: TileRange<AlongY, R>,
        left: TileRange<AlongX, C>,
        mut value: impl FnMut(Own) -> T, // `c.store(block, top, left, |own| value);`
    ) {
        let &mut Self {
            first, rows, cols, ..
        } = self;
        let mut store = |own: Own| {
            let element = if Layout::BY_ROWS {
                own.at_row * cols + own.at_col
            } else {
                own.at_col * rows + own.at_row
            };
            // SAFETY: `for_own` gives elements inside the matrix, so below `rows · cols`. Only this
            // block has the tile, because the grid has one plane, and only this thread the element.
            unsafe { first.add(element).write(value(own)) };
        };
        let (down, across) = (Side::new(top, rows), Side::new(left, cols));
        if Threads::BY_ROWS {
            for_own(block, down, across, |(row, i, at_row), (col, j, at_col)| {
                store(Own {
                    row,
                    col,
                    at_row,
                    at_col,
                    i,
                    j,
                })
            });
        } else {
            for_own(block, across, down, |(col, j, at_col), (row, i, at_row)| {
                store(Own {
                    row,
                    col,
                    at_row,
                    at_col,
                    i,
                    j,
                })
            });
        }
    }
}

impl<T: Plain, const R: usize, const C: usize, Layout, Threads> fmt::Debug
    for OutMatrix<'_, T, R, C, Layout, Threads>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutMatrix")
            .field("rows", &self.rows)
            .field("cols", &self.cols)
            .finish()
    }
}

/// One side of a tile: `N` indices from `start`, of a matrix that ends at `end`.
#[derive(Clone, Copy)]
struct Side<const N: usize> {
    start: usize,
    end: usize,
}

impl<const N: usize> Side<N> {
    #[inline(always)]
    fn new<Axis>(range: TileRange<Axis, N>, end: usize) -> Self {
        Self {
            start: range.start(),
            end,
        }
    }
}

/// Calls `visit((o, i, at_o), (p, j, at_p))` for this thread's elements of an `O` × `I` tile inside
/// the matrix: o is the i-th outer index from the thread's row, p the j-th inner index from its
/// column; `at_o` and `at_p` are the positions in the matrix.
///
/// Every element of the tile belongs to one thread, because o = y + Y·i and p = x + X·j determine
/// y, i, x and j.
#[inline(always)]
fn for_own<const X: usize, const Y: usize, const O: usize, const I: usize>(
    block: &Block<X, Y>,
    outer: Side<O>,
    inner: Side<I>,
    mut visit: impl FnMut((usize, usize, usize), (usize, usize, usize)),
) {
    // With few elements, each address is computed where it is stored. If only an addition remained
    // there, ptxas would turn the bounds tests into predicates and move the loads of the values
    // before the first store. With bank conflicts these loads delay the other blocks' loads in the
    // same queue (5 % of `transpose_tiled` on an H200). With many elements the additions pay off.
    let few = Calls::<O, Y>::COUNT.saturating_mul(Calls::<I, X>::COUNT) <= 4;
    let ((x, y), (width, height)) = (block.thread_xy(), block.extents_xy());
    let (first_o, first_p) = (opaque(outer.start + y), opaque(inner.start + x));
    counted::<I, X>(width, |j| {
        let (p, at_p) = (x + j * width, first_p + j * width);
        if p < I && at_p < inner.end {
            counted::<O, Y>(height, |i| {
                let (o, at_o) = (y + i * height, first_o + i * height);
                let at_o = if few { opaque(at_o) } else { at_o };
                if o < O && at_o < outer.end {
                    visit((o, i, at_o), (p, j, at_p));
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SHAPES, block, launch, owners};
    use super::*;
    use crate::block::{ANY, ColMajor};

    /// Checks that each element is stored exactly once over all threads of a launch, in every
    /// layout, for any grid with one plane.
    fn check<const X: usize, const Y: usize, const R: usize, const C: usize>(shape: [u32; 3]) {
        check_in::<X, Y, R, C, RowMajor, RowMajor>(shape);
        check_in::<X, Y, R, C, ColMajor, ColMajor>(shape);
        check_in::<X, Y, R, C, ColMajor, RowMajor>(shape);
        check_in::<X, Y, R, C, RowMajor, ColMajor>(shape);
    }

    fn check_in<
        const X: usize,
        const Y: usize,
        const R: usize,
        const C: usize,
        Layout: Order,
        Threads: Order,
    >(
        shape: [u32; 3],
    ) {
        for grid in SHAPES.into_iter().filter(|grid| grid[2] == 1) {
            for (rows, cols) in [(0, 5), (5, 0), (1, 1), (7, 3), (16, 16), (33, 18)] {
                owners(rows * cols, |elements, launched| {
                    launch(grid, shape, || {
                        // SAFETY: the elements outlive it, and one thread runs at a time.
                        let mut out: OutMatrix<'_, u8, R, C, Layout, Threads> =
                            unsafe { OutMatrix::new(launched, elements, rows, cols) };
                        let block = block::<X, Y, 1>();
                        let ((x, y), (width, height)) = (block.thread_xy(), block.extents_xy());
                        for top in block.tiles_y(rows) {
                            for left in block.tiles_x(cols) {
                                out.store(&block, top, left, |own| {
                                    let Own { row, col, i, j, .. } = own;
                                    let expected = if Threads::BY_ROWS {
                                        (y + i * height, x + j * width)
                                    } else {
                                        (x + i * width, y + j * height)
                                    };
                                    assert_eq!((row, col), expected);
                                    let (row, col) = (top.start() + row, left.start() + col);
                                    assert_eq!((own.at_row, own.at_col), (row, col));
                                    let at = if Layout::BY_ROWS {
                                        row * cols + col
                                    } else {
                                        col * rows + row
                                    };
                                    // SAFETY: the element that is to be stored.
                                    unsafe { *elements.add(at) + 1 }
                                });
                            }
                        }
                    });
                });
            }
        }
    }

    #[test]
    fn an_element_is_one_threads() {
        for shape in SHAPES.into_iter().filter(|shape| shape[2] == 1) {
            check::<ANY, ANY, 8, 4>(shape);
            check::<ANY, ANY, 1, 1>(shape);
        }
        check::<4, 3, 8, 8>([4, 3, 1]);
        check::<32, 2, 16, 16>([32, 2, 1]);
        check::<1, 3, 4, 40>([1, 3, 1]);
        check::<5, ANY, 8, 4>([5, 1, 1]);
    }
}
