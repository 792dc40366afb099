//! A thread's position, for the ownership maps.

use core::hint::assert_unchecked;

use super::registers::{Registers, registers};

/// An extent of a [`Block`](super::Block) that the launch chooses.
pub const ANY: usize = 0;

/// An extent of the block: the constant of its type, or the launch's.
#[inline(always)]
pub(super) fn extent<const N: usize>(launched: u32) -> usize {
    if N != ANY {
        return N;
    }
    // SAFETY: no GPU has blocks without threads or of more than 1024.
    unsafe {
        assert_unchecked(launched >= 1);
        assert_unchecked(launched <= 1024);
    }
    launched as usize
}

/// This block's number in the grid, x fastest, and the number of blocks: below 2⁶³, because a grid
/// has at most 2³¹−1 × 65535 × 65535 blocks.
#[inline(always)]
pub(super) fn block_of_grid() -> (usize, usize) {
    let Registers { at, grid, .. } = registers();
    let [[x, y, z], [width, height, depth]] = [at, grid].map(|axes| axes.map(|axis| axis as usize));
    (x + width * (y + height * z), width * height * depth)
}

/// The first index of this block and its stride, for blocks along x that take turns with runs of
/// `run` indices, at most 2¹⁵. Neither reaches 2⁴⁶.
///
/// Blocks that differ only along y or z get the same values. That is why a launch with an
/// [`Out`](super::Out) and a `Block` must have a one-dimensional grid: handling other grids would
/// cost every such kernel registers.
#[inline(always)]
pub(super) fn runs_of_grid(run: usize) -> (usize, usize) {
    let Registers { at, grid, .. } = registers();
    (at[0] as usize * run, grid[0] as usize * run)
}

/// The indices below a length that belong to this thread, in ascending order.
#[derive(Debug)]
pub(super) struct Indices {
    /// The next one; there is none from `len` on.
    pub(super) next: usize,
    pub(super) len: usize,
    /// At most `isize::MAX`, like `len`, so adding it to an index does not overflow.
    pub(super) threads: usize,
}

impl Indices {
    #[inline(always)]
    pub(super) fn mine(len: usize) -> Self {
        let (next, threads) = thread_of_grid();
        Self { next, len, threads }
    }
}

impl Iterator for Indices {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let index = self.next;
        if index >= self.len {
            return None;
        }
        self.next = index + self.threads;
        Some(index)
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.len.saturating_sub(self.next).div_ceil(self.threads);
        (left, Some(left))
    }
}

/// Tells the compiler that the grid and the block are one-dimensional.
///
/// # Safety
/// They are.
#[doc(hidden)]
#[inline(always)]
pub unsafe fn one_dimensional() {
    let Registers { block, grid, .. } = registers();
    // SAFETY: the caller's promise; no extent is 0.
    unsafe { assert_unchecked((grid[1] | grid[2] | block[1] | block[2]) == 1) };
}

/// This thread's number in the grid, x fastest, and the number of threads. Below the largest index
/// of an element no two threads have the same number; a number that does not fit becomes that
/// index, which no array has.
///
/// In a one-dimensional grid this is the first index of the block's first run, plus the thread.
#[inline(always)]
pub(super) fn thread_of_grid() -> (usize, usize) {
    let Registers {
        thread,
        block,
        at,
        grid,
    } = registers();
    // Usual launches are one-dimensional; then nothing overflows.
    if (grid[1] | grid[2] | block[1] | block[2]) == 1 {
        let (block, thread) = (extent::<ANY>(block[0]), thread[0] as usize);
        return (at[0] as usize * block + thread, grid[0] as usize * block);
    }
    let [x, y, z] = thread.map(|index| index as usize);
    let [width, height, depth] = block.map(extent::<ANY>);
    let (threads, thread) = (width * height * depth, x + width * (y + height * z));
    let (block, blocks) = block_of_grid();
    let fitting = |number: usize| {
        let last = isize::MAX as usize;
        if number < last { number } else { last }
    };
    let before = block.saturating_mul(threads);
    (
        fitting(before.saturating_add(thread)),
        fitting(blocks.saturating_mul(threads)),
    )
}
