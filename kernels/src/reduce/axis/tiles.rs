//! A block has a tile of `cols` columns (of the inner extent) by `lines` outer indices, and `rows`
//! threads for each of its outputs. Thread (c, r) of a line folds the rows r, r + `rows`, … of column
//! c.
//! - A small inner extent: all its columns. The rows of a step are one run of memory.
//! - A large one: a tile of columns, of rows that lie apart.
//! - inner = 1: one column, for lines in parts.
//!
//! Threads of one output fold in shared memory, the upper half into the lower, with a barrier after
//! each round: it orders the round's writes before the next one's reads, and the last before the
//! first writes of the next tile. With one column the last 32 are lanes of a warp, which fold by
//! shuffles, in the same order.
//!
//! Where there are too few outputs for the device, lines are divided in `parts`, and the block that
//! finishes a tile last folds its parts, as in [`single`](crate::reduce::single): which block that is
//! varies, what is folded in which order does not. A ticket starts at 0, and the last block resets it.
//! With another number a result is wrong or missing, but there is no race: parts are accessed by
//! relaxed atomics.

use cuda_std::atomic::intrinsics::{
    atomic_fetch_add_acqrel_u32_device, atomic_store_relaxed_32_device,
};
use cuda_std::prelude::*;
use cuda_std::uniform::assume_block_uniform;
use cuda_std::unroll::unrolled;

use super::{Along, Fold, THREADS};
use crate::here::{pointer_here, zero_here};
use crate::matmul::asm::load_or;
use crate::reduce::Addend;
use crate::reduce::lanes::{WARP, fold_segments};
use crate::reduce::relaxed::{load, store};

/// Parts of an output that a thread of the last block has in flight.
const AHEAD: usize = 4;

impl<T: Addend, O: Along> Fold<T, O> {
    /// Folds all tiles of this block, groups of N rows at a time, or of HALF at the end.
    ///
    /// # Safety
    /// The kernel's `require` holds, and all threads of the launch call it, once.
    #[inline(always)]
    pub(super) unsafe fn each<const N: usize, const HALF: usize>(&self) {
        let last = shared_array![u32; 1];
        let first = [
            thread::block_idx_x() as usize,
            thread::block_idx_z() as usize,
        ];
        let ([mut wide, mut high], mut part) = (first, thread::block_idx_y());
        if part >= self.parts as u32 {
            return;
        }
        // One loop, and nothing is asked before it: most blocks have one tile.
        loop {
            // SAFETY: passed on to the caller; there is such a part.
            unsafe { self.tile::<N, HALF>([wide, high], part, last) };
            wide += thread::grid_dim_x() as usize;
            if self.is_within([wide, 0]) {
                continue;
            }
            wide = first[0];
            part += thread::grid_dim_y();
            if part < self.parts as u32 {
                continue;
            }
            part = thread::block_idx_y();
            high += thread::grid_dim_z() as usize;
            if !self.is_within([0, high]) {
                return;
            }
        }
    }

    /// Whether a tile has columns and lines.
    #[inline(always)]
    fn is_within(&self, [wide, high]: [usize; 2]) -> bool {
        let (lines, ..) = self.lines(zero_here() as u32);
        let cols = thread::block_dim_x() as usize + zero_here();
        wide * cols < self.inner && high * (lines as usize) < self.outer
    }

    /// A block's lines, and this thread's line and row among them. One line, whatever its rows; or
    /// several, which are told apart by a shift. Numbers without a branch: with one ptxas spills
    /// them.
    #[inline(always)]
    fn lines(&self, zero: u32) -> (u32, u32, u32) {
        let (high, at) = (thread::block_dim_y() + zero, thread::thread_idx_y() + zero);
        let (shift, rest) = match high == self.rows {
            true => (31, u32::MAX),
            false => (self.rows.trailing_zeros(), self.rows - 1),
        };
        ((high >> shift).max(1), at >> shift, at & rest)
    }

    /// Folds a part of a tile's lines.
    ///
    /// # Safety
    /// As of [`each`](Self::each), and there is such a part.
    #[inline(always)]
    unsafe fn tile<const N: usize, const HALF: usize>(
        &self,
        [wide, high]: [usize; 2],
        part: u32,
        last: *mut u32,
    ) {
        // Nothing is computed before the loops over tiles: most blocks have one, and a small array
        // takes as long as what comes before the first load.
        let zero = zero_here();
        let (lines, line, row) = self.lines(zero as u32);
        let cols = thread::block_dim_x() as usize;
        let line = high * lines as usize + line as usize;
        let col = wide * cols + thread::thread_idx_x() as usize + zero;
        let exists = line < self.outer && col < self.inner;
        // At most `part`, which 32 bits hold.
        let begin = u64::from(part) * u64::from(self.part as u32);
        let begin = begin as usize;
        let len = match self.extent - begin < self.part {
            true => (self.extent - begin) as u32,
            false => self.part as u32,
        };
        // SAFETY: passed on to the caller; the output exists where it says so.
        unsafe {
            let mut folded = O::start::<T>();
            if exists {
                let at = (line * self.extent + begin + row as usize) * self.inner + col;
                folded = self.share::<N, HALF>(at, begin, row, len);
            }
            folded = self.of_rows(folded, row);
            let output = line * self.inner + col;
            if self.parts == 1 {
                if exists && row == 0 {
                    self.finish(output, folded);
                }
                return;
            }
            // All threads of the block return or stay.
            if !self.is_within([wide, high]) {
                return;
            }
            let outputs = (self.outer + zero_here()) * self.inner;
            if exists && row == 0 {
                let at = part as usize * outputs + output;
                store(self.own.wrapping_add(at), folded);
            }
            // Orders the block's stores before the ticket, and the reads of the last tile's answer
            // before the next one's.
            thread::sync_threads();
            if thread::thread_idx_x() == 0 && thread::thread_idx_y() == 0 {
                let all = (self.inner + cols - 1).checked_div(cols).unwrap_or(0);
                last.write(self.is_last(high * all + wide).into());
            }
            // Orders the ticket before the loads of other blocks' stores.
            thread::sync_threads();
            if assume_block_uniform(last.read()) != 0 {
                let mut folded = O::start::<T>();
                if exists {
                    folded = self.of_parts(output, outputs, row as usize);
                }
                folded = self.of_rows(folded, row);
                if exists && row == 0 {
                    self.finish(output, folded);
                }
            }
        }
    }

    /// What a thread folds of a column of a part, which begins at an index of its line and has `len`
    /// rows: the rows `row`, `row` + `rows`, …, the first of which is at `at`.
    ///
    /// # Safety
    /// The column and the part exist.
    #[inline(always)]
    pub(super) unsafe fn share<const N: usize, const HALF: usize>(
        &self,
        at: usize,
        begin: usize,
        mut row: u32,
        len: u32,
    ) -> O::Folded<T> {
        let mut folded = O::start::<T>();
        let (rows, apart) = (self.rows, self.rows as usize * self.inner);
        let mut from = self.input.wrapping_add(at);
        let mut next = |inside: bool| {
            let here = from;
            from = pointer_here(from.wrapping_add(apart));
            // SAFETY: a row of this part, if it is inside.
            let [element] = unsafe { load_or::<T, 1>(here, inside, O::nothing(self.how)) };
            element
        };
        let index = |row: u32, i: u32| begin + (row + i * rows) as usize;
        // All threads of a line take the same way, whatever their row: lanes of a warp that did not
        // would wait for the others' loads, and then for their own.
        let mut left = len;
        while left >= N as u32 * rows {
            let mut elements = [T::ZERO; N];
            unrolled::<N>(|i| elements[i] = next(true));
            folded = O::group(folded, elements, |i| index(row, i), self.how);
            row += N as u32 * rows;
            left -= N as u32 * rows;
        }
        if left > HALF as u32 * rows {
            let mut elements = [T::ZERO; N];
            unrolled::<N>(|i| elements[i] = next(row + i as u32 * rows < len));
            folded = O::group(folded, elements, |i| index(row, i), self.how);
        } else if left > 0 {
            let mut elements = [T::ZERO; HALF];
            unrolled::<HALF>(|i| elements[i] = next(row + i as u32 * rows < len));
            folded = O::group(folded, elements, |i| index(row, i), self.how);
        }
        folded
    }

    /// What a thread of the last block folds of an output's parts: `row`, `row` + `rows`, ….
    ///
    /// # Safety
    /// The output exists, and all its parts are stored.
    #[inline(always)]
    unsafe fn of_parts(&self, output: usize, outputs: usize, row: usize) -> O::Folded<T> {
        let mut folded = O::start::<T>();
        let rows = self.rows as usize;
        let mut part = row;
        while part < self.parts {
            let at = |i: usize| {
                let at = part + i * rows;
                if at < self.parts { at } else { part }
            };
            // SAFETY: parts of this output.
            let loaded: [O::Folded<T>; AHEAD] = core::array::from_fn(|i| unsafe {
                load(self.own.wrapping_add(at(i) * outputs + output))
            });
            unrolled::<AHEAD>(|i| {
                if part + i * rows < self.parts {
                    folded = O::merge::<T>(folded, loaded[i]);
                }
            });
            part += AHEAD * rows;
        }
        folded
    }

    /// Folds what the threads of each output have; the thread of row 0 gets the result.
    ///
    /// # Safety
    /// All threads of the block call it.
    #[inline(always)]
    unsafe fn of_rows(&self, folded: O::Folded<T>, row: u32) -> O::Folded<T> {
        // Words instead of the type: a static cannot depend on a type parameter.
        let slots = shared_array![u64; 2 * THREADS as usize].cast::<O::Folded<T>>();
        const { assert!(size_of::<O::Folded<T>>() <= 16) };
        let mut folded = folded;
        if self.rows == 1 {
            return folded;
        }
        // Nothing of this is kept in registers over the loads.
        let rows = self.rows + zero_here() as u32;
        let cols = thread::block_dim_x();
        // The threads of an output are neighbours, a power of two of them.
        let is_run = cols == 1 && rows.is_power_of_two();
        let end = if is_run { WARP } else { 1 };
        // SAFETY: each thread has a slot. In a round it reads one that is not written, and writes its
        // own, which none reads. All lanes of a warp take the same way: `rows` decides.
        unsafe {
            let mut left = rows;
            if left > end {
                let here = zero_here() as u32;
                let slot = (thread::thread_idx_y() + here) * cols + thread::thread_idx_x();
                slots.wrapping_add(slot as usize).write(folded);
                thread::sync_threads();
                while left > end {
                    let half = left.div_ceil(2);
                    if row < left - half {
                        let other = slots.wrapping_add((slot + half * cols) as usize).read();
                        folded = O::merge::<T>(folded, other);
                        slots.wrapping_add(slot as usize).write(folded);
                    }
                    thread::sync_threads();
                    left = half;
                }
            }
            if is_run {
                // The last warp of a block of few threads is not whole.
                let high = thread::thread_idx_y() + zero_here() as u32;
                let lanes = (thread::block_dim_y() - (high & !(WARP - 1))).min(WARP);
                let mask = u32::MAX >> (WARP - lanes);
                folded = fold_segments(mask, folded, left, O::merge::<T>);
            }
        }
        folded
    }

    /// Takes a tile's ticket; true of the last one.
    ///
    /// # Safety
    /// The tile has a ticket, and one thread of the block calls it.
    #[inline(always)]
    unsafe fn is_last(&self, tile: usize) -> bool {
        let ticket = self.tickets.wrapping_add(tile);
        // SAFETY: the caller's promise; tickets are accessed only atomically.
        unsafe {
            let taken = atomic_fetch_add_acqrel_u32_device(ticket, 1);
            let is_last = taken as usize == self.parts - 1;
            if is_last {
                atomic_store_relaxed_32_device(ticket, 0);
            }
            is_last
        }
    }
}
