//! Shapes of shared arrays, and the single rule for which thread owns which element.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Index;

use super::Block;
use super::order::{Order, RowMajor};
use crate::Plain;
use crate::opaque::opaque;
use crate::unroll::unrolled;

/// The shape of a shared array: `[T; N]`, `[T]`, [`Tile`], or a [`Pair`] of one of them.
///
/// An array has numbered elements. Thread t of a block owns the elements t, t + threads, …,
/// whichever function writes them. That is the whole map: it depends on the array's type and the
/// launch alone.
///
/// # Safety
/// - `put` with different elements below `len` writes different places inside the array, and
///   nothing else.
/// - Once every element has been put, `&Self` may be created and read. Elements that a panicked
///   thread never put have arbitrary bits: every bit pattern is valid.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a shared array",
    note = "shared arrays are `[T; N]`, `[T]`, `Tile<T, ROWS, COLS>` and `Pair` of them, where `T` is `Plain`: numbers, arrays of numbers, \
            and `#[repr(C)]` structs with `#[derive(Plain)]`"
)]
pub unsafe trait Array {
    /// Identifies an element.
    type Index: Copy;
    /// The value of an element.
    type Element: Copy;
    /// The number of elements, if it is part of the type.
    #[doc(hidden)]
    const LEN: Option<usize>;

    /// The number of elements.
    fn len(this: *const Self) -> usize;

    /// The index of element `first + ahead`; `ahead` is a constant in unrolled code.
    fn index(first: usize, ahead: usize) -> Self::Index;

    /// Writes element `first + ahead`.
    ///
    /// # Safety
    /// `this` points to an array and `first + ahead` is below its length. No other thread accesses
    /// this element concurrently.
    unsafe fn put(this: *mut Self, first: usize, ahead: usize, value: Self::Element);
}

/// Elements that a thread loads before it stores the first of them, if their number is a constant.
const TOGETHER: usize = 8;
/// The same for a number that is not a constant.
const GROUP: usize = 4;

/// This thread's share of an array of type `A`.
struct Share<A: ?Sized, const X: usize, const Y: usize, const Z: usize>(PhantomData<A>);

impl<A: Array + ?Sized, const X: usize, const Y: usize, const Z: usize> Share<A, X, Y, Z> {
    /// The most elements per thread, if it is a constant.
    const EACH: Option<usize> = match A::LEN {
        Some(len) if Block::<X, Y, Z>::THREADS > 0 => Some(len.div_ceil(Block::<X, Y, Z>::THREADS)),
        _ => None,
    };
}

/// Writes this thread's elements, each once.
///
/// Several values are computed before the first is written, so that several loads are in flight.
///
/// # Safety
/// `array` points to an array of the block. No other thread accesses this thread's elements
/// concurrently.
#[inline(always)]
pub(super) unsafe fn write_own<
    A: Array + ?Sized,
    const X: usize,
    const Y: usize,
    const Z: usize,
>(
    array: *mut A,
    block: &Block<X, Y, Z>,
    mut value: impl FnMut(A::Index) -> A::Element,
) {
    let (first, step, len) = (block.thread(), block.threads(), A::len(array));
    match Share::<A, X, Y, Z>::EACH {
        Some(each) if each <= TOGETHER => {
            let mut values = [const { MaybeUninit::uninit() }; TOGETHER];
            unrolled::<TOGETHER>(|i| {
                if i < each && first + i * step < len {
                    values[i].write(value(A::index(first, i * step)));
                }
            });
            unrolled::<TOGETHER>(|i| {
                if i < each && first + i * step < len {
                    // SAFETY: written above, under the same condition. The element is this
                    // thread's, below the length.
                    unsafe { A::put(array, first, i * step, values[i].assume_init()) };
                }
            });
        }
        _ => {
            let mut element = first;
            // A dynamic array has few more elements than the block has threads, so it gets no
            // groups.
            while A::LEN.is_some() && element + (GROUP - 1) * step < len {
                let mut values = [const { MaybeUninit::uninit() }; GROUP];
                unrolled::<GROUP>(|i| {
                    values[i].write(value(A::index(element, i * step)));
                });
                unrolled::<GROUP>(|i| {
                    // SAFETY: written above. The element is this thread's, below the length.
                    unsafe { A::put(array, element, i * step, values[i].assume_init()) };
                });
                element += GROUP * step;
            }
            let mut put = |element| {
                // SAFETY: the element is this thread's, and below the length.
                unsafe { A::put(array, element, 0, value(A::index(element, 0))) };
            };
            // Usually one is left. Tested before the loop, where LLVM may know that none is.
            if element < len {
                put(element);
                element += step;
            }
            while element < len {
                put(element);
                // Avoids an induction variable per address for these few iterations.
                element = opaque(element + step);
            }
        }
    }
}

// SAFETY: an element is one of the slice's; any bits are values.
unsafe impl<T: Plain> Array for [T] {
    type Index = usize;
    type Element = T;
    const LEN: Option<usize> = None;

    #[inline(always)]
    fn len(this: *const Self) -> usize {
        const {
            assert!(
                size_of::<T>() > 0,
                "a shared array of elements without bytes"
            )
        };
        const {
            assert!(
                align_of::<T>() <= 16,
                "dynamic shared memory is aligned to 16 bytes only"
            )
        };
        this.len()
    }

    #[inline(always)]
    fn index(first: usize, ahead: usize) -> usize {
        first + ahead
    }

    #[inline(always)]
    unsafe fn put(this: *mut Self, first: usize, ahead: usize, value: T) {
        // SAFETY: passed on to the caller.
        unsafe { this.cast::<T>().add(first + ahead).write(value) }
    }
}

// SAFETY: as for a slice.
unsafe impl<T: Plain, const N: usize> Array for [T; N] {
    type Index = usize;
    type Element = T;
    const LEN: Option<usize> = Some(N);

    #[inline(always)]
    fn len(_: *const Self) -> usize {
        const {
            assert!(
                size_of::<T>() > 0,
                "a shared array of elements without bytes"
            )
        };
        N
    }

    #[inline(always)]
    fn index(first: usize, ahead: usize) -> usize {
        first + ahead
    }

    #[inline(always)]
    unsafe fn put(this: *mut Self, first: usize, ahead: usize, value: T) {
        // SAFETY: passed on to the caller.
        unsafe { this.cast::<T>().add(first + ahead).write(value) }
    }
}

/// A shared array of `R` rows of `C` elements with a row pitch of `P`: `tile[row][col]`.
///
/// A pitch `P` of `C + 1` puts the elements of a column into different banks. `O` numbers the
/// elements, and so determines which thread writes which: adjacent threads write adjacent elements
/// of a row ([`RowMajor`]) or of a column ([`ColMajor`](super::ColMajor)), for a matrix that is
/// transposed on its way into the tile. Rows are contiguous either way.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// output = input, which differ in their layouts: a transpose
/// #[kernel(require(input.rows() == output.rows(), input.cols() == output.cols()))]
/// pub fn transpose(
///     block: &mut Block<32, 8>,
///     tile: Shared<Tile<f32, 32, 32, 33>>,
///     input: Matrix<f32>,
///     mut output: OutMatrix<f32, 32, 32, ColMajor>,
/// ) {
///     let mut tile = tile.refill();
///     for top in block.tiles_y::<32>(input.rows()) {
///         for left in block.tiles_x::<32>(input.cols()) {
///             let loaded = tile.fill(block, |(r, c)| input.or_default(top.start() + r, left.start() + c));
///             output.store(block, top, left, |own| loaded[own.row][own.col]);
///         }
///     }
/// }
/// ```
#[repr(transparent)]
pub struct Tile<T, const R: usize, const C: usize, const P: usize = C, O = RowMajor>(
    [[MaybeUninit<T>; P]; R],
    PhantomData<O>,
);

impl<T, const R: usize, const C: usize, const P: usize, O> Index<usize> for Tile<T, R, C, P, O> {
    type Output = [T; C];

    #[inline(always)]
    fn index(&self, row: usize) -> &[T; C] {
        const { assert!(C <= P, "the pitch of a tile is at least its columns") };
        // SAFETY: the first C of a row are elements, and only a published array creates a `&Tile`
        // (the contract of `Array`).
        unsafe { &*self.0[row].as_ptr().cast() }
    }
}

// SAFETY: row and column of different numbers differ, and lie inside: row < R and col < C ≤ P for
// numbers below R · C.
unsafe impl<T: Plain, const R: usize, const C: usize, const P: usize, O: Order> Array
    for Tile<T, R, C, P, O>
{
    type Index = (usize, usize);
    type Element = T;
    const LEN: Option<usize> = Some(R * C);

    #[inline(always)]
    fn len(_: *const Self) -> usize {
        const { assert!(C <= P, "the pitch of a tile is at least its columns") };
        const {
            assert!(
                size_of::<T>() > 0,
                "a shared array of elements without bytes"
            )
        };
        R * C
    }

    #[inline(always)]
    fn index(first: usize, ahead: usize) -> (usize, usize) {
        O::place(first, ahead, R, C)
    }

    #[inline(always)]
    unsafe fn put(this: *mut Self, first: usize, ahead: usize, value: T) {
        let (row, col) = O::place(first, ahead, R, C);
        // SAFETY: passed on to the caller; inside, as said above.
        unsafe { this.cast::<T>().add(row * P + col).write(value) }
    }
}

/// Two arrays of one type that are written together, such as the tiles of both operands in a
/// [`Ring`](super::Ring): the closure returns a pair.
#[repr(C)]
pub struct Pair<A>(pub A, pub A);

// SAFETY: an element is one of each array.
unsafe impl<A: Array> Array for Pair<A> {
    type Index = A::Index;
    type Element = (A::Element, A::Element);
    const LEN: Option<usize> = A::LEN;

    #[inline(always)]
    fn len(this: *const Self) -> usize {
        A::len(this.cast())
    }

    #[inline(always)]
    fn index(first: usize, ahead: usize) -> A::Index {
        A::index(first, ahead)
    }

    #[inline(always)]
    unsafe fn put(this: *mut Self, first: usize, ahead: usize, values: Self::Element) {
        // SAFETY: passed on to the caller; both arrays have an element of this number, because they
        // have the same type.
        unsafe {
            A::put(&raw mut (*this).0, first, ahead, values.0);
            A::put(&raw mut (*this).1, first, ahead, values.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{SHAPES, block, launch};
    use super::*;
    use crate::block::{ANY, ColMajor};

    /// Writes an array as all threads of a block, and returns its memory as words: each element its
    /// number, plus `1000` for each time that it was written.
    fn written<A: Array<Element = u32> + ?Sized, const X: usize, const Y: usize, const Z: usize>(
        shape: [u32; 3],
        words: usize,
        array: impl Fn(*mut u32) -> *mut A,
        number: impl Fn(A::Index) -> usize,
    ) -> Vec<u32> {
        let mut memory = vec![0_u32; words];
        let first = memory.as_mut_ptr();
        launch([1, 1, 1], shape, || {
            let mut last = None;
            // SAFETY: the memory is the array's, and one thread runs at a time.
            unsafe {
                write_own(array(first), &block::<X, Y, Z>(), |index| {
                    let number = number(index);
                    assert!(last < Some(number), "ascending");
                    last = Some(number);
                    1000 + number as u32
                });
            }
        });
        memory
    }

    fn check<const X: usize, const Y: usize, const Z: usize>(shape: [u32; 3]) {
        let expected = |len: usize| Vec::from_iter((0..len as u32).map(|i| 1000 + i));
        macro_rules! arrays {
            ($($n:literal)*) => {$(
                let got = written::<[u32; $n], X, Y, Z>(shape, $n, |first| first.cast(), |i| i);
                assert_eq!(got, expected($n), "{shape:?}");
                let dynamic = |first| core::ptr::slice_from_raw_parts_mut(first, $n);
                let got = written::<[u32], X, Y, Z>(shape, $n, dynamic, |i| i);
                assert_eq!(got, expected($n), "{shape:?}");
            )*};
        }
        arrays!(0 1 5 31 32 33 256 1000);
        // Rows of 3 with a pitch of 4: the last slot of each row has no owner.
        let rows = |(row, col)| 3 * row + col;
        let got = written::<Tile<u32, 5, 3, 4>, X, Y, Z>(shape, 20, |first| first.cast(), rows);
        for (place, word) in got.into_iter().enumerate() {
            let (row, col) = (place / 4, place % 4);
            let expected = if col < 3 { 1000 + rows((row, col)) } else { 0 };
            assert_eq!(word as usize, expected, "{shape:?}");
        }
        // Numbered down the columns, and still laid out by rows.
        let columns = |(row, col)| 5 * col + row;
        let got = written::<Tile<u32, 5, 3, 4, ColMajor>, X, Y, Z>(
            shape,
            20,
            |first| first.cast(),
            columns,
        );
        for (place, word) in got.into_iter().enumerate() {
            let (row, col) = (place / 4, place % 4);
            let expected = if col < 3 {
                1000 + columns((row, col))
            } else {
                0
            };
            assert_eq!(word as usize, expected, "{shape:?}");
        }
    }

    #[test]
    fn each_element_is_written_once_by_blocks_of_any_shape() {
        for shape in SHAPES {
            check::<ANY, ANY, ANY>(shape);
        }
        check::<1, 1, 1>([1, 1, 1]);
        check::<31, 1, 1>([31, 1, 1]);
        check::<32, 2, 1>([32, 2, 1]);
        check::<3, 2, 2>([3, 2, 2]);
        check::<ANY, 3, 1>([4, 3, 1]);
        check::<256, 1, 1>([256, 1, 1]);
    }

    #[test]
    fn a_pair_is_two_arrays() {
        let mut pair = Pair([0_u32; 5], [0_u32; 5]);
        launch([1, 1, 1], [3, 1, 1], || {
            // SAFETY: one thread runs at a time.
            unsafe {
                write_own(&raw mut pair, &block::<3, 1, 1>(), |i| {
                    (i as u32, 10 * i as u32)
                })
            };
        });
        assert_eq!((pair.0, pair.1), ([0, 1, 2, 3, 4], [0, 10, 20, 30, 40]));
    }

    #[test]
    fn a_tile_is_read_by_row_and_column() {
        let mut tile = MaybeUninit::<Tile<u32, 2, 3, 4>>::uninit();
        launch([1, 1, 1], [2, 1, 1], || {
            // SAFETY: one thread runs at a time.
            unsafe {
                write_own(tile.as_mut_ptr(), &block::<2, 1, 1>(), |(row, col)| {
                    (10 * row + col) as u32
                });
            }
        });
        // SAFETY: each element is written.
        let tile = unsafe { &*tile.as_ptr() };
        assert_eq!((tile[0], tile[1]), ([0, 1, 2], [10, 11, 12]));
    }
}
