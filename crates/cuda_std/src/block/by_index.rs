//! What an index into a handle says: no handle has elements that a thread may reach by an index
//! that it computes. Without these implementations the compiler would only say that the type
//! cannot be indexed.
//!
//! No type implements the traits, so each use is an error, whose text is the trait's. A type of a
//! user's that did could not return from `never`.

use core::ops::Index;

use super::{
    Append, Array, Atomics, Counting, Matrix, Out, OutMatrix, Scatter, Scratch, Shared, Slots,
    Written, Zeroed,
};
use crate::Plain;

/// An index of a [`Shared`] array.
#[diagnostic::on_unimplemented(
    message = "a `Shared` array has no elements yet: all threads write it, then a barrier publishes it",
    label = "too early, and not by an index",
    note = "write: `let written = tile.write(block, |i| x[i]);`, which calls the closure for each of the thread's own elements",
    note = "wait: `let tile = block.sync_threads(written);`, then read: `tile[i]`"
)]
pub trait OfShared {
    /// Does not return.
    fn never(self) -> !;
}

impl<I: OfShared, A: Array + ?Sized> Index<I> for Shared<'_, A> {
    type Output = A::Element;

    fn index(&self, index: I) -> &A::Element {
        index.never()
    }
}

/// An index of a [`Written`] array.
#[diagnostic::on_unimplemented(
    message = "a `Written` array can be read after a barrier",
    label = "other threads may not have written it yet",
    note = "wait first: `let tile = block.sync_threads(written);`, then read: `tile[i]`"
)]
pub trait OfWritten {
    /// Does not return.
    fn never(self) -> !;
}

impl<I: OfWritten, A: Array + ?Sized> Index<I> for Written<'_, A> {
    type Output = A::Element;

    fn index(&self, index: I) -> &A::Element {
        index.never()
    }
}

/// An index of [`Zeroed`] counters.
#[diagnostic::on_unimplemented(
    message = "`Zeroed` counters can be used after a barrier",
    label = "other threads may not have zeroed them yet",
    note = "wait first: `let bins = block.sync_threads(zeroed);`, then count: `bins.add(bin, 1);`"
)]
pub trait OfZeroed {
    /// Does not return.
    fn never(self) -> !;
}

impl<I: OfZeroed, A: Array + ?Sized> Index<I> for Zeroed<'_, A> {
    type Output = A::Element;

    fn index(&self, index: I) -> &A::Element {
        index.never()
    }
}

/// An index of [`Counting`] counters.
#[diagnostic::on_unimplemented(
    message = "counters that threads add to have no index",
    label = "other threads may be adding",
    note = "count: `bins.add(bin, 1);`",
    note = "read: `let bins = block.sync_threads(bins);`, then `bins[bin]`"
)]
pub trait OfCounting {
    /// Does not return.
    fn never(self) -> !;
}

impl<I: OfCounting, A: Array + ?Sized> Index<I> for Counting<'_, A> {
    type Output = A::Element;

    fn index(&self, index: I) -> &A::Element {
        index.never()
    }
}

/// An index of an [`Out`].
#[diagnostic::on_unimplemented(
    message = "an output is not indexed: a thread reaches its own elements only",
    label = "no element at a computed index",
    note = "element by element: `for (i, y) in y.mine() {{ *y = x[i]; }}`, or `if let Some((i, y)) = y.own() {{ *y = x[i]; }}`",
    note = "with a block: `for place in block.tiles(y.len()) {{ y.store(block, place, |i| x[i]); }}`; one value of the block, in an \
            `Out<T, PerBlock>`: `y.store(block, value);`",
    note = "at computed indices: parameters `Atomics<T>` (add), `Append<T>` (compaction), `Scatter<T>` (a permutation)"
)]
pub trait OfOut {
    /// Does not return.
    fn never(self) -> !;
}

impl<I: OfOut, T, Map> Index<I> for Out<'_, T, Map> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        index.never()
    }
}

/// An index of an [`OutMatrix`].
#[diagnostic::on_unimplemented(
    message = "an output is not indexed: a thread reaches its own elements only",
    label = "no element at a computed index",
    note = "of an `OutMatrix<T, R, C>` a block stores tiles: `c.store(block, top, left, |own| value);` in \
            `for top in block.tiles_y::<R>(c.rows())` and `for left in block.tiles_x::<C>(c.cols())`; the element is at \
            `top.start() + own.row`, `left.start() + own.col`"
)]
pub trait OfOutMatrix {
    /// Does not return.
    fn never(self) -> !;
}

impl<I: OfOutMatrix, T: Plain, const R: usize, const C: usize, Layout, Threads> Index<I>
    for OutMatrix<'_, T, R, C, Layout, Threads>
{
    type Output = T;

    fn index(&self, index: I) -> &T {
        index.never()
    }
}

/// An index of a [`Matrix`].
#[diagnostic::on_unimplemented(
    message = "a `Matrix` is read by row and column",
    label = "not by one index",
    note = "`a.row(row)[col]`, or `a.or_default(row, col)`, which is 0 outside the matrix"
)]
pub trait OfMatrix {
    /// Does not return.
    fn never(self) -> !;
}

impl<I: OfMatrix, T: Plain> Index<I> for Matrix<'_, T> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        index.never()
    }
}

/// An index of [`Atomics`].
#[diagnostic::on_unimplemented(
    message = "elements that all threads change are changed by atomic operations only",
    label = "not by an index",
    note = "`counts.add(i, 1);`, `counts.min(i, n);`, `counts.max(i, n);`, or `counts.load(i)`; of one element i is 0"
)]
pub trait OfAtomics {
    /// Does not return.
    fn never(self) -> !;
}

impl<I: OfAtomics, T: super::number::Number> Index<I> for Atomics<'_, T> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        index.never()
    }
}

/// An index of an [`Append`].
#[diagnostic::on_unimplemented(
    message = "an `Append` gives out its elements in turn",
    label = "not by an index",
    note = "`kept.push(value);`, or `kept.store(block, &mut scratch, tile, load, choose);` for a whole tile"
)]
pub trait OfAppend {
    /// Does not return.
    fn never(self) -> !;
}

impl<I: OfAppend, T> Index<I> for Append<'_, T> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        index.never()
    }
}

/// An index of a [`Scatter`].
#[diagnostic::on_unimplemented(
    message = "a `Scatter` stores element i at the place that the permutation has for i",
    label = "not at a computed index",
    note = "`for (i, mut y) in sorted.mine() {{ *y = x[i]; }}`, or `sorted.store(block, tile, |i| x[i]);`"
)]
pub trait OfScatter {
    /// Does not return.
    fn never(self) -> !;
}

impl<I: OfScatter, T> Index<I> for Scatter<'_, T> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        index.never()
    }
}

/// An index of [`Slots`].
#[diagnostic::on_unimplemented(
    message = "a thread has one slot of its own, and no index into the others'",
    label = "not by an index",
    note = "fold all of them: `slots.fold_halves(block, |a, b| a + b);` while `slots.len() > 1`, then `slots.mine()`"
)]
pub trait OfSlots {
    /// Does not return.
    fn never(self) -> !;
}

impl<I: OfSlots, T: Plain> Index<I> for Slots<'_, T> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        index.never()
    }
}

/// An index of a [`Scratch`].
#[diagnostic::on_unimplemented(
    message = "a `Scratch` is no array: the block's reductions and scans use it",
    label = "not by an index",
    note = "`scratch.reduce(block, value, |a, b| a + b)`, `scratch.inclusive_scan(..)`, `scratch.broadcast(..)`; an array of your own is \
            `Shared<[f32; 256]>`"
)]
pub trait OfScratch {
    /// Does not return.
    fn never(self) -> !;
}

impl<I: OfScratch, T: Plain> Index<I> for Scratch<'_, T> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        index.never()
    }
}
