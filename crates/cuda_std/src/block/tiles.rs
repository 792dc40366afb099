//! Tiles of the grid: runs of indices that belong to one block.

use core::marker::PhantomData;

use super::position::ANY;
use super::registers::registers;

/// [`TileRange`]s by the block's column in the grid, with `ITEMS` indices per thread.
#[derive(Clone, Copy, Debug)]
pub enum Linear<const ITEMS: usize = 1> {}
/// [`TileRange`]s by the block's column in the grid.
#[derive(Clone, Copy, Debug)]
pub enum AlongX {}
/// [`TileRange`]s by the block's row in the grid.
#[derive(Clone, Copy, Debug)]
pub enum AlongY {}
/// [`TileRange`]s by the block's plane in the grid.
#[derive(Clone, Copy, Debug)]
pub enum AlongZ {}

/// A run of `N` indices (for `N` = [`ANY`], as `Axis` says) that no other block along `Axis` has.
///
/// Only a block's own iterators create one ([`Block::tiles`](super::Block::tiles)), from the launch
/// alone: whatever length a thread passes, its tiles are among the block's. It cannot be sent
/// through memory, so no thread has another block's.
#[derive(Debug)]
pub struct TileRange<Axis, const N: usize = ANY> {
    start: usize,
    // Not `Send`, and so not `Plain`.
    own: PhantomData<*mut Axis>,
}

impl<Axis, const N: usize> Clone for TileRange<Axis, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<Axis, const N: usize> Copy for TileRange<Axis, N> {}

impl<Axis, const N: usize> TileRange<Axis, N> {
    /// Its first index.
    #[inline(always)]
    pub fn start(&self) -> usize {
        self.start
    }
}

/// The [`TileRange`]s of a block, in ascending order.
#[derive(Debug)]
#[must_use = "an iterator over the block's tiles"]
pub struct Tiles<Axis, const N: usize = ANY> {
    /// Start of the previous tile; initially one stride before the first.
    before: usize,
    end: usize,
    stride: usize,
    own: PhantomData<*mut Axis>,
}

impl<Axis, const N: usize> Tiles<Axis, N> {
    /// `first` and `stride` are at most `isize::MAX`.
    #[inline(always)]
    pub(super) fn new(first: usize, stride: usize, len: usize) -> Self {
        // No array has more elements. Adding the stride to a number below this does not overflow.
        let most = isize::MAX as usize;
        Self {
            before: first.wrapping_sub(stride),
            end: if len < most { len } else { most },
            stride,
            own: PhantomData,
        }
    }

    #[inline(always)]
    pub(super) fn along(axis: usize, len: usize) -> Self {
        // 2³¹ blocks of tiles of this length have fewer than `isize::MAX` indices.
        const {
            assert!(
                N > 0 && N <= u32::MAX as usize,
                "a tile of 1 to 2³² − 1 indices"
            )
        };
        let (at, grid) = (registers().at[axis], registers().grid[axis]);
        Self::new(at as usize * N, grid as usize * N, len)
    }
}

impl<Axis, const N: usize> Iterator for Tiles<Axis, N> {
    type Item = TileRange<Axis, N>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        // The step is taken on every path: LLVM would otherwise turn it into a condition and no
        // longer recognise a strided loop. It wraps only after the end, which is 0 by then.
        let start = self.before.wrapping_add(self.stride);
        self.before = start;
        if start < self.end {
            Some(TileRange {
                start,
                own: PhantomData,
            })
        } else {
            self.end = 0;
            None
        }
    }
}

impl<Axis, const N: usize> core::iter::FusedIterator for Tiles<Axis, N> {}
