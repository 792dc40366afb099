//! [`Block`]: the token that states that all threads of a block are here.

use core::hint::assert_unchecked;
use core::marker::PhantomData;

use super::phase::Phase;
use super::position::{ANY, block_of_grid, extent, runs_of_grid};
use super::registers::registers;
use super::tiles::{AlongX, AlongY, AlongZ, Linear, Tiles};
use crate::thread;

/// States that all threads of an `X` × `Y` × `Z` block are here: a kernel's parameter `&mut
/// Block<..>`.
///
/// An extent is a constant, which the launch checks and the compiler uses, or [`ANY`]:
/// `Block<256>`, `Block<16, 16>`, `Block<ANY, ANY>`; plain `Block` is one-dimensional, of any
/// length.
///
/// Each thread has one, created by the kernel's entry. A barrier needs it by `&mut`, so there can
/// be no barrier inside a closure that fills a shared array, and none while a [`Warp`](super::Warp)
/// is in use. The build checks that all threads arrive at each barrier.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// `totals[block]` = how many of the block's elements are negative
/// #[kernel]
/// pub fn negatives(block: &mut Block<256>, input: &[f32], mut totals: Out<u32, PerBlock>) {
///     let mut total = 0;
///     for tile in block.tiles(input.len()) {
///         let mine = input.get(tile.start() + block.thread());
///         total += block.sync_threads_count(mine.is_some_and(|x| *x < 0.0));
///     }
///     totals.store(block, total);
/// }
/// ```
pub struct Block<const X: usize = ANY, const Y: usize = 1, const Z: usize = 1>(
    PhantomData<*mut ()>,
);

impl<const X: usize, const Y: usize, const Z: usize> Block<X, Y, Z> {
    /// The number of threads, if all extents are constants; otherwise 0.
    pub(super) const THREADS: usize = X * Y * Z;

    /// The token of this thread.
    ///
    /// # Safety
    /// Called once in a kernel, by every thread, in a launch whose block has the extents that are
    /// not [`ANY`].
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn new() -> Self {
        const { assert!(Self::THREADS <= 1024, "a block has at most 1024 threads") };
        Self(PhantomData)
    }

    #[inline(always)]
    fn extents() -> [usize; 3] {
        let [x, y, z] = registers().block;
        [extent::<X>(x), extent::<Y>(y), extent::<Z>(z)]
    }

    /// The block's columns and rows.
    #[inline(always)]
    pub(super) fn extents_xy(&self) -> (usize, usize) {
        let [x, y, _] = Self::extents();
        (x, y)
    }

    /// The threads of the block: at most 1024.
    #[doc(alias = "blockDim")]
    #[inline(always)]
    pub fn threads(&self) -> usize {
        let [x, y, z] = Self::extents();
        let threads = x * y * z;
        // SAFETY: no GPU supports larger blocks, or blocks without threads.
        unsafe {
            assert_unchecked(threads >= 1);
            assert_unchecked(threads <= 1024);
        }
        threads
    }

    /// This thread's column, row and plane in the block.
    #[inline(always)]
    pub fn thread_xyz(&self) -> (usize, usize, usize) {
        let ([x, y, z], [width, height, depth]) = (registers().thread, Self::extents());
        (
            below::<X>(x, width),
            below::<Y>(y, height),
            below::<Z>(z, depth),
        )
    }

    /// This thread's column and row in the block.
    #[inline(always)]
    pub fn thread_xy(&self) -> (usize, usize) {
        let (x, y, _) = self.thread_xyz();
        (x, y)
    }

    /// This thread's number in the block, x fastest: below [`threads`](Self::threads).
    #[doc(alias = "threadIdx")]
    #[inline(always)]
    pub fn thread(&self) -> usize {
        let ((x, y, z), [width, height, _]) = (self.thread_xyz(), Self::extents());
        let thread = x + width * (y + height * z);
        // SAFETY: each index is below its extent.
        unsafe { assert_unchecked(thread < self.threads()) };
        thread
    }

    /// The block's number in the grid, x fastest.
    #[doc(alias = "blockIdx")]
    #[inline(always)]
    pub fn index(&self) -> usize {
        block_of_grid().0
    }

    /// The block's column, row and plane in the grid.
    #[inline(always)]
    pub fn index_xyz(&self) -> (usize, usize, usize) {
        let [x, y, z] = registers().at.map(|index| index as usize);
        (x, y, z)
    }

    /// Waits until every thread of the block has arrived, and advances shared arrays to their next
    /// state: [`Written`](super::Written) ones are then published, [`Published`](super::Published)
    /// ones writable.
    ///
    /// `states` is one of them, a tuple of up to six, or `()`.
    #[inline(always)]
    // The compiler shows the line of the name to who calls it without an argument.
    #[rustfmt::skip]
    pub fn sync_threads<P: Phase>( // `block.sync_threads(written)`, or `block.sync_threads(())` without an array
        &mut self,
        states: P,
    ) -> P::Next {
        thread::sync_threads();
        // SAFETY: all threads of the block have just passed the barrier, because barriers are
        // uniform.
        unsafe { states.next() }
    }

    /// A barrier that counts the threads whose `predicate` is true.
    #[inline(always)]
    pub fn sync_threads_count(&mut self, predicate: bool) -> u32 {
        thread::sync_threads_count(u32::from(predicate))
    }

    /// A barrier that returns whether `predicate` is true in every thread.
    #[inline(always)]
    pub fn sync_threads_and(&mut self, predicate: bool) -> bool {
        thread::sync_threads_and(u32::from(predicate)) != 0
    }

    /// A barrier that returns whether `predicate` is true in any thread.
    #[inline(always)]
    pub fn sync_threads_or(&mut self, predicate: bool) -> bool {
        thread::sync_threads_or(u32::from(predicate)) != 0
    }

    /// The block's tiles of `0..len`, one element per thread, by the block's column in the grid:
    /// all blocks of a one-dimensional grid take turns. The last tile may reach past `len`.
    #[inline(always)]
    pub fn tiles(&self, len: usize) -> Tiles<Linear> {
        self.tiles_of(len)
    }

    /// Like [`tiles`](Self::tiles), with `ITEMS` indices per thread, at most 32.
    #[inline(always)]
    pub fn tiles_of<const ITEMS: usize>(&self, len: usize) -> Tiles<Linear<ITEMS>> {
        const {
            assert!(
                ITEMS >= 1 && ITEMS <= 32,
                "a thread has 1 to 32 elements of a tile"
            )
        };
        let (first, stride) = runs_of_grid(ITEMS * self.threads());
        Tiles::new(first, stride, len)
    }

    /// The block's tiles of columns `0..len`, `N` each, by the block's column in the grid.
    #[inline(always)]
    pub fn tiles_x<const N: usize>(&self, len: usize) -> Tiles<AlongX, N> {
        Tiles::along(0, len)
    }

    /// The block's tiles of rows `0..len`, `N` each, by the block's row in the grid.
    #[inline(always)]
    pub fn tiles_y<const N: usize>(&self, len: usize) -> Tiles<AlongY, N> {
        Tiles::along(1, len)
    }

    /// The block's tiles of planes `0..len`, `N` each, by the block's plane in the grid.
    #[inline(always)]
    pub fn tiles_z<const N: usize>(&self, len: usize) -> Tiles<AlongZ, N> {
        Tiles::along(2, len)
    }
}

/// A thread's index along an axis of a block that has `extent` threads along it.
#[inline(always)]
fn below<const N: usize>(index: u32, extent: usize) -> usize {
    if N == 1 {
        return 0;
    }
    let index = index as usize;
    if N.is_power_of_two() {
        // The same number, in a form that keeps it below N wherever LLVM moves the expression.
        return index & (N - 1);
    }
    // SAFETY: the hardware guarantees it, and the launch has these extents (`Block::new`).
    unsafe { assert_unchecked(index < extent) };
    index
}
