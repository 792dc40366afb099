//! Contiguous lines, each with a power of two of threads, in one part; or columns of one matrix,
//! with a thread each.
//!
//! Change from [tiles](super::tiles): no tiles or parts are computed before the first load, for
//! which small arrays wait. Each warp folds its lanes' values. If a line has several warps, each
//! leaves its value in shared memory, where the line's first lanes fold them.

use cuda_std::prelude::*;
use cuda_std::uniform::assume_warp_uniform;

use super::{Along, Fold, THREADS};
use crate::here::zero_here;
use crate::reduce::Addend;
use crate::reduce::lanes::{WARP, fold_segments};

/// The most warps of a block.
const WARPS: u32 = THREADS / WARP;

impl<T: Addend, O: Along> Fold<T, O> {
    /// Folds all lines of this block, N elements at a time, or HALF at the end.
    ///
    /// # Safety
    /// The kernel's `require` holds for this way, and all threads of the launch call it, once.
    #[inline(always)]
    pub(super) unsafe fn each_run<const N: usize, const HALF: usize>(&self) {
        // Only blocks along z have lines.
        if thread::block_idx_x() | thread::block_idx_y() != 0 {
            return;
        }
        let (high, at) = (thread::block_dim_y(), thread::thread_idx_y());
        let shift = self.rows.trailing_zeros();
        let row = at & (self.rows - 1);
        let lines = self.outer * self.inner;
        let to_next = if self.inner == 1 { self.extent } else { 1 };
        let mut first = thread::block_idx_z() * high;
        loop {
            let line = ((first + at) >> shift) as usize;
            let exists = line < lines;
            // SAFETY: `exists` guards the line, and all its threads are here. The whole block
            // reaches the barrier: `first` and `rows` are uniform in it.
            unsafe {
                let mut folded = O::start::<T>();
                if exists {
                    let at = line * to_next + row as usize;
                    folded = self.share::<N, HALF>(at, 0, row, self.extent as u32);
                }
                folded = self.of_run(folded, row);
                if exists && row == 0 {
                    self.finish(line, folded);
                }
            }
            first += thread::grid_dim_z() * high + zero_here() as u32;
            if (first >> shift) as usize >= lines {
                return;
            }
            if self.rows > WARP {
                // Orders this line's reads of shared memory before the next one's writes.
                thread::sync_threads();
            }
        }
    }

    /// Folds the values of each line's threads; the thread of row 0 gets the result.
    ///
    /// # Safety
    /// All threads of the block call it.
    #[inline(always)]
    unsafe fn of_run(&self, folded: O::Folded<T>, row: u32) -> O::Folded<T> {
        // Words instead of the type: a static cannot depend on a type parameter.
        let slots = shared_array![u64; 2 * WARPS as usize].cast::<O::Folded<T>>();
        const { assert!(size_of::<O::Folded<T>>() <= 16) };
        let at = thread::thread_idx_y();
        // SAFETY: branches depend on `rows`, which is uniform. The masks name the lanes of a warp
        // that exist.
        unsafe {
            if self.rows < WARP {
                // The last warp of the block may be incomplete.
                let lanes = (thread::block_dim_y() - (at & !(WARP - 1))).min(WARP);
                let mask = u32::MAX >> (WARP - lanes);
                return fold_segments(mask, folded, self.rows, O::merge::<T>);
            }
            let folded = O::of_warp::<T>(folded);
            if self.rows == WARP {
                return folded;
            }
            let (warp, warps) = (at / WARP, self.rows / WARP);
            if at.is_multiple_of(WARP) {
                slots.wrapping_add(warp as usize).write(folded);
            }
            // Orders each warp's value before the reads by each line's first warp.
            thread::sync_threads();
            if assume_warp_uniform(row / WARP) > 0 {
                return folded;
            }
            let mut folded = O::start::<T>();
            if row < warps {
                folded = slots.wrapping_add((warp + row) as usize).read();
            }
            fold_segments(u32::MAX, folded, warps, O::merge::<T>)
        }
    }
}
