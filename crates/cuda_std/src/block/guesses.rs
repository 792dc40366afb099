//! Methods that one guesses. As with the names of CUDA C++ and with indices, each needs a trait
//! that no type implements, whose text is the error: the line to write.

use super::by_index::{OfAtomics, OfCounting, OfOut, OfOutMatrix, OfScatter, OfShared};
use super::number::Number;
use super::{Array, Atomics, Block, Counting, Matrix, Out, OutMatrix, Scatter, Shared};
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

impl<const X: usize, const Y: usize, const Z: usize> Block<X, Y, Z> {
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

impl<T, Map> Out<'_, T, Map> {
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
