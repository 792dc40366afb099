//! Methods that one guesses. As with the names of CUDA C++ and with indices, each needs a trait
//! that no type implements, whose text is the error: the line to write.

use super::by_index::{OfAtomics, OfCounting, OfOut, OfOutMatrix, OfScatter, OfShared};
use super::number::Number;
use super::{
    Array, Atomics, Block, Counting, Matrix, Out, OutMatrix, Scatter, Scratch, Shared, Warp,
};
use crate::Plain;

/// Shared arrays that a kernel makes.
#[diagnostic::on_unimplemented(
    message = "a shared array is not made in the kernel: it is a parameter, `tile: Shared<[f32; 256]>`",
    label = "the launch passes nothing for it",
    note = "of a length that the launch chooses: `tile: Shared<[f32]>`, with `#[kernel(shared(tile = block.threads()))]`",
    note = "write it: `let written = tile.write(block, |i| x[i]);`, counters: `let zeroed = bins.zeroed(block);`"
)]
pub trait MadeInTheKernel {}

/// The length of a matrix.
#[diagnostic::on_unimplemented(
    message = "a matrix has `a.rows()` and `a.cols()`: `a.rows() * a.cols()` elements",
    label = "no length",
    note = "of an input also `a.as_slice().len()`"
)]
pub trait LengthOfMatrix {}

/// The barrier by another name.
#[diagnostic::on_unimplemented(
    message = "a block's barrier is `block.sync_threads(written)`",
    label = "no barrier of this name",
    note = "of a shared array: `let written = tile.write(block, |i| x[i]); let tile = block.sync_threads(written);`",
    note = "without one: `block.sync_threads(());`"
)]
pub trait Barrier {}

/// A thread's place in its warp, asked of the block.
#[diagnostic::on_unimplemented(
    message = "a lane is one of a warp: `block.warp().lane()`",
    label = "not of the block",
    note = "its shuffles, votes and sums: `let warp = block.warp();`, then `warp.shuffle_down(v, 1)`, `warp.ballot(p)`, `warp.fold(v, |a, b| a + b)`"
)]
pub trait OfWarp {}

/// The block's size and place by other names.
#[diagnostic::on_unimplemented(
    message = "a block has `block.threads()` threads, this one is `block.thread()`, and the block is `block.index()` of the grid",
    label = "no method of this name",
    note = "in several dimensions: `let (x, y) = block.thread_xy();`, `let (x, y, z) = block.index_xyz();`"
)]
pub trait Extent {}

/// Sums of a block or a warp.
#[diagnostic::on_unimplemented(
    message = "a sum has its operation: `scratch.reduce(block, value, |a, b| a + b)` of the block, `warp.fold(value, |a, b| a + b)` of a warp",
    label = "no method of this name",
    note = "the block's is a parameter, `mut scratch: Scratch<f32>`; the warp's `let warp = block.warp();`"
)]
pub trait Sum {}

/// Counters in shared memory before they are zeroed.
#[diagnostic::on_unimplemented(
    message = "counters in shared memory are zeroed first: `let zeroed = bins.zeroed(block); let bins = block.sync_threads(zeroed);`",
    label = "too early",
    note = "then count: `bins.add(bin, 1);`, and read after another barrier: `let bins = block.sync_threads(bins);`, `bins[bin]`"
)]
pub trait OfSharedCounters {
    /// Does not return.
    fn never(self) -> !;
}

/// All elements of an output.
#[diagnostic::on_unimplemented(
    message = "a thread reaches its own elements of an output: `for (i, y) in y.mine() {{ *y = x[i]; }}`",
    label = "no iterator over all of them"
)]
pub trait Elements {}

/// Rows and columns by other names.
#[diagnostic::on_unimplemented(
    message = "a matrix has `a.rows()` and `a.cols()`",
    label = "no method of this name"
)]
pub trait Sides {}

impl<const X: usize, const Y: usize, const Z: usize> Block<X, Y, Z> {
    #[doc(hidden)]
    pub fn lane<'a>(&self) -> usize
    where
        &'a (): OfWarp,
    {
        0
    }

    #[doc(hidden)]
    pub fn dim<'a>(&self) -> usize
    where
        &'a (): Extent,
    {
        0
    }

    #[doc(hidden)]
    pub fn size<'a>(&self) -> usize
    where
        &'a (): Extent,
    {
        0
    }

    #[doc(hidden)]
    pub fn thread_rank<'a>(&self) -> usize
    where
        &'a (): Extent,
    {
        0
    }

    #[doc(hidden)]
    pub fn group_index<'a>(&self) -> usize
    where
        &'a (): Extent,
    {
        0
    }

    #[doc(hidden)]
    pub fn sync<'a>(&mut self)
    where
        &'a (): Barrier,
    {
    }

    #[doc(hidden)]
    pub fn barrier<'a>(&mut self)
    where
        &'a (): Barrier,
    {
    }
}

impl<A: Array + ?Sized> Shared<'_, A> {
    #[doc(hidden)]
    #[allow(clippy::new_without_default, reason = "no call compiles")]
    pub fn new<'a>() -> Self
    where
        &'a (): MadeInTheKernel,
    {
        unreachable!("nothing implements the trait")
    }

    #[doc(hidden)]
    pub fn set<I: OfShared, V>(&mut self, index: I, _value: V) {
        index.never()
    }
}

impl<A: Array + ?Sized> Shared<'_, A> {
    #[doc(hidden)]
    pub fn add<I: OfSharedCounters, V>(&mut self, index: I, _value: V) {
        index.never()
    }
}

impl<T: Plain> Scratch<'_, T> {
    #[doc(hidden)]
    pub fn sum<'a, const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        _: &mut Block<X, Y, Z>,
        _: T,
    ) -> T
    where
        &'a (): Sum,
    {
        unreachable!("nothing implements the trait")
    }
}

impl Warp<'_> {
    #[doc(hidden)]
    pub fn sum<'a, T>(&self, _: T) -> T
    where
        &'a (): Sum,
    {
        unreachable!("nothing implements the trait")
    }

    #[doc(hidden)]
    pub fn reduce<'a, T, Op>(&self, _: T, _: Op) -> T
    where
        &'a (): Sum,
    {
        unreachable!("nothing implements the trait")
    }
}

impl<V: OfAtomics, T: Number> core::ops::AddAssign<V> for Atomics<'_, T> {
    fn add_assign(&mut self, value: V) {
        value.never()
    }
}

impl<T, Map> Out<'_, T, Map> {
    #[doc(hidden)]
    pub fn iter_mut<'a>(&mut self) -> core::slice::IterMut<'_, T>
    where
        &'a (): Elements,
    {
        unreachable!("nothing implements the trait")
    }

    #[doc(hidden)]
    pub fn set<I: OfOut, V>(&mut self, index: I, _value: V) {
        index.never()
    }

    #[doc(hidden)]
    pub fn write<I: OfOut, V>(&mut self, index: I, _value: V) {
        index.never()
    }

    #[doc(hidden)]
    pub fn add<I: OfOut, V>(&mut self, index: I, _value: V) {
        index.never()
    }

    #[doc(hidden)]
    pub fn fetch_add<I: OfOut, V>(&mut self, index: I, _value: V) {
        index.never()
    }
}

impl<T: Plain, const R: usize, const C: usize, Layout, Threads>
    OutMatrix<'_, T, R, C, Layout, Threads>
{
    #[doc(hidden)]
    pub fn set<I: OfOutMatrix, J, V>(&mut self, row: I, _col: J, _value: V) {
        row.never()
    }

    #[doc(hidden)]
    #[allow(clippy::len_without_is_empty, reason = "no call compiles")]
    pub fn len<'a>(&self) -> usize
    where
        &'a (): LengthOfMatrix,
    {
        self.rows() * self.cols()
    }
}

impl<T: Plain> Matrix<'_, T> {
    #[doc(hidden)]
    pub fn width<'a>(&self) -> usize
    where
        &'a (): Sides,
    {
        self.cols()
    }

    #[doc(hidden)]
    pub fn height<'a>(&self) -> usize
    where
        &'a (): Sides,
    {
        self.rows()
    }

    #[doc(hidden)]
    #[allow(clippy::len_without_is_empty, reason = "no call compiles")]
    pub fn len<'a>(&self) -> usize
    where
        &'a (): LengthOfMatrix,
    {
        self.rows() * self.cols()
    }
}

impl<T> Scatter<'_, T> {
    #[doc(hidden)]
    pub fn set<I: OfScatter, V>(&mut self, index: I, _value: V) {
        index.never()
    }
}

impl<T: Number> Atomics<'_, T> {
    #[doc(hidden)]
    pub fn fetch_add<I: OfAtomics, V>(&self, index: I, _value: V) {
        index.never()
    }
}

impl<A: Array + ?Sized> Counting<'_, A> {
    #[doc(hidden)]
    pub fn fetch_add<I: OfCounting, V>(&self, index: I, _value: V) {
        index.never()
    }
}
