//! Any lines: a block has a tile of `cols` columns (of the inner extent) by `lines` outer indices,
//! and `rows` threads for each output. Thread (c, r) of a line folds the rows r, r + `rows`, … of
//! column c.
//! - If the inner extent is small, the tile has all columns, and a step's rows are contiguous.
//! - If it is large, the tile has some columns, whose rows lie apart.
//! - If it is 1, the tile has one column, for lines in parts.
//!
//! Threads of one output fold in shared memory, the upper half into the lower, with a barrier after
//! each round: it orders the round's writes before the next round's reads, and the last round's
//! reads before the next tile's writes. With one column the last 32 values are in the lanes of a
//! warp, which folds them by shuffles, in the same order.
//!
//! Where there are too few outputs for the device, lines are divided into `parts`, and the block
//! that finishes a tile last folds its parts, as in [`single`](crate::reduce::single): which block
//! that is varies, but not what is folded, nor in which order. A ticket starts at 0, and the last
//! block resets it. With another start a result is wrong or missing, but there is no race: parts
//! are accessed by relaxed atomics.

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

/// Parts of an output that each thread of the last block has in flight.
const AHEAD: usize = 4;

impl<T: Addend, O: Along> Fold<T, O> {
    /// Folds all tiles of this block, N rows at a time, or HALF at the end.
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
        // One loop, without a check before it: most blocks have one tile.
        loop {
            // SAFETY: the caller's promise; `part` is below `parts`.
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

    /// Whether the tile at these indices is inside the array.
    #[inline(always)]
    fn is_within(&self, [wide, high]: [usize; 2]) -> bool {
        let (lines, ..) = self.lines(zero_here() as u32);
        let cols = thread::block_dim_x() as usize + zero_here();
        wide * cols < self.inner && high * (lines as usize) < self.outer
    }

    /// The number of a block's lines, and this thread's line and row. One line has any number of
    /// rows; for several, a shift gives the line. Computed without a branch: with one ptxas spills
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
    /// As for [`each`](Self::each), and `part` is below `parts`.
    #[inline(always)]
    unsafe fn tile<const N: usize, const HALF: usize>(
        &self,
        [wide, high]: [usize; 2],
        part: u32,
        last: *mut u32,
    ) {
        // Keeps the compiler from computing this before the loops over tiles: most blocks have one
        // tile, and the time of a small array is the time until its first load.
        let zero = zero_here();
        let (lines, line, row) = self.lines(zero as u32);
        let cols = thread::block_dim_x() as usize;
        let line = high * lines as usize + line as usize;
        let col = wide * cols + thread::thread_idx_x() as usize + zero;
        let exists = line < self.outer && col < self.inner;
        // A part's length fits into 32 bits.
        let begin = u64::from(part) * u64::from(self.part as u32);
        let begin = begin as usize;
        let len = match self.extent - begin < self.part {
            true => (self.extent - begin) as u32,
            false => self.part as u32,
        };
        // SAFETY: the caller's promise; `exists` guards the output.
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
            // Uniform: all threads of the block return, or none.
            if !self.is_within([wide, high]) {
                return;
            }
            let outputs = (self.outer + zero_here()) * self.inner;
            if exists && row == 0 {
                let at = part as usize * outputs + output;
                store(self.own.wrapping_add(at), folded);
            }
            // Orders the block's stores before the ticket, and the reads of `last` for the previous
            // tile before this tile's write.
            thread::sync_threads();
            if thread::thread_idx_x() == 0 && thread::thread_idx_y() == 0 {
                let all = (self.inner + cols - 1).checked_div(cols).unwrap_or(0);
                last.write(self.is_last(high * all + wide).into());
            }
            // Orders the ticket before the reads of `last` and the loads of other blocks' stores.
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

    /// Folds this thread's rows of a column of a part: `row`, `row` + `rows`, …, the first of which
    /// is at `at`. The part begins at index `begin` of its line and has `len` rows.
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
            // SAFETY: `inside` guards a row of this part.
            let [element] = unsafe { load_or::<T, 1>(here, inside, O::nothing(self.how)) };
            element
        };
        let index = |row: u32, i: u32| begin + (row + i * rows) as usize;
        // The branches do not depend on the row: diverged lanes of a warp would wait for the
        // others' loads, and then for their own.
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

    /// Folds this thread's parts of an output, in the last block: `row`, `row` + `rows`, ….
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

    /// Folds the values of each output's threads; the thread of row 0 gets the result.
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
        // Keeps these out of registers during the loads.
        let rows = self.rows + zero_here() as u32;
        let cols = thread::block_dim_x();
        // Whether the threads of an output are neighbours, and a power of two of them.
        let is_run = cols == 1 && rows.is_power_of_two();
        let end = if is_run { WARP } else { 1 };
        // SAFETY: each thread has a slot. In a round it reads one that is not written, and writes
        // its own, which no other thread reads. Loops and branches with barriers depend on `rows`,
        // which is uniform.
        unsafe {
            let mut left = rows;
            if left > end {
                let here = zero_here() as u32;
                let slot = (thread::thread_idx_y() + here) * cols + thread::thread_idx_x();
                slots.wrapping_add(slot as usize).write(folded);
                // Orders all threads' values before the first round's reads.
                thread::sync_threads();
                while left > end {
                    let half = left.div_ceil(2);
                    if row < left - half {
                        let other = slots.wrapping_add((slot + half * cols) as usize).read();
                        folded = O::merge::<T>(folded, other);
                        slots.wrapping_add(slot as usize).write(folded);
                    }
                    // Orders this round's writes before the next one's reads, and its reads before
                    // the next tile's writes.
                    thread::sync_threads();
                    left = half;
                }
            }
            if is_run {
                // The last warp of the block may be incomplete.
                let high = thread::thread_idx_y() + zero_here() as u32;
                let lanes = (thread::block_dim_y() - (high & !(WARP - 1))).min(WARP);
                let mask = u32::MAX >> (WARP - lanes);
                folded = fold_segments(mask, folded, left, O::merge::<T>);
            }
        }
        folded
    }

    /// Takes a tile's ticket. Whether it was the last one.
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
