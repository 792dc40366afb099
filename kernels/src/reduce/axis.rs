//! Reductions along one axis, of an array of outer × extent × inner elements, in one launch.
//!
//! output\[o · inner + i\] = the fold over k < extent of input\[(o · extent + k) · inner + i\]: the
//! sum, the mean, the minimum or the maximum, and the index of an extreme.
//!
//! A block has a tile of `cols` columns (of the inner extent) by `lines` outer indices, and `rows`
//! threads for each of its outputs. Thread (c, r) of a line folds the rows r, r + `rows`, … of column
//! c. One kernel serves every shape:
//! - inner = 1: one column, up to 256 rows. Rows are adjacent elements. Where lines are short, a block
//!   has several.
//! - A small inner extent: all its columns. The rows of a step are one run of memory.
//! - A large one: a tile of columns, of rows that lie apart.
//!
//! Each load of a warp is coalesced, and [`IN_FLIGHT`] bytes of each thread are in flight.
//!
//! Threads of one output fold in shared memory, the upper half into the lower, with a barrier after
//! each round: it orders the round's writes before the next one's reads, and the last before the
//! first writes of the next tile. With one column the last 32 are lanes of a warp, which fold by
//! shuffles, in the same order.
//!
//! Of many short lines a thread has several at a time: with one, most of its instructions were not
//! loads. They are a pack of neighbouring columns, which is loaded and stored in 16 bytes; or,
//! where columns do not come in packs, [`ABREAST`] lines a grid apart.
//!
//! Where there are too few outputs for the device, lines are divided in `parts`, and the block that
//! finishes a tile last folds its parts, as in [`single`](super::single): which block that is varies,
//! what is folded in which order does not. A ticket starts at 0, and the last block resets it. With
//! another number a result is wrong or missing, but there is no race: parts are accessed by relaxed
//! atomics.
//!
//! Sums are [added in more](super::addend): neighbours of a group first, so that a thread's share of
//! n elements is a chain of n / 16 additions for `f32`. Extremes are the first of equals; the first
//! NaN wins.

use cuda_std::atomic::intrinsics::{
    atomic_fetch_add_acqrel_u32_device, atomic_store_relaxed_32_device,
};
use cuda_std::prelude::*;
use cuda_std::uniform::assume_block_uniform;
use cuda_std::unroll::unrolled;

use super::lanes::{WARP, fold_segments};
use super::relaxed::{load, store};
use super::{Addend, Extreme, Sum};
use crate::here::{pointer_here, zero_here};
use crate::matmul::asm::load_if;
use crate::pack::Pack;

mod along;

pub use along::Along;

/// The most threads of a block.
pub const THREADS: u32 = 256;

/// Bytes that a thread has in flight.
pub const IN_FLIGHT: usize = 64;

/// Outputs of short lines that a thread folds at the same time, where a block has several tiles.
pub const ABREAST: usize = 4;

/// The most elements of such a line, of 4 bytes and of 8: three and two rounds of loads. With four
/// rounds a thread takes longer than with all of one line in flight.
pub const SHORT: [usize; 2] = [6, 4];

/// Elements of each of these lines that it has in flight.
pub const TOGETHER: usize = 2;

/// The most elements of a line whose columns a thread has in packs.
pub const PACKED: usize = 64;

/// Packs that it has in flight, one of each row.
pub const PACKS: usize = 4;

/// Parts of an output that a thread of the last block has in flight.
const AHEAD: usize = 4;

/// The most tiles whose lines have several parts: each has a ticket.
pub const TICKETS: usize = 4096;

/// The most rows of a part.
pub const LONGEST: usize = 1 << 30;

/// How blocks divide an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Columns of a block.
    pub cols: u32,
    /// Threads for each output of a block.
    pub rows: u32,
    /// Outer indices of a block.
    pub lines: u32,
    /// Rows of a part, all of them if there is one part.
    pub part: usize,
    /// Parts of each line.
    pub parts: usize,
}

impl Tiling {
    /// Whether blocks of `block` threads can have it, for lines of `extent` elements.
    pub const fn fits(
        rows: usize,
        block: [u32; 3],
        extent: usize,
        part: usize,
        parts: usize,
    ) -> bool {
        let threads = block[0] as u64 * block[1] as u64;
        let is_part = 0 < part && part <= LONGEST && parts <= LONGEST;
        if block[2] != 1 || threads > THREADS as u64 || rows == 0 || !is_part {
            return false;
        }
        // Several lines are told apart by a shift.
        let high = block[1] as usize;
        let divides = rows.is_power_of_two() && high.is_multiple_of(rows);
        let all = extent.div_ceil(part);
        (rows == high || divides) && parts == if all == 0 { 1 } else { all }
    }

    /// Whether there is a result for each line of an array, or none at all.
    pub const fn has(len: usize, outer: usize, inner: usize) -> bool {
        match outer.checked_mul(inner) {
            Some(outputs) => len == 0 || len == outputs,
            None => false,
        }
    }

    /// Tiles of an array.
    pub const fn tiles(cols: u32, lines: u32, outer: usize, inner: usize) -> usize {
        if cols == 0 || lines == 0 {
            return 0;
        }
        inner
            .div_ceil(cols as usize)
            .saturating_mul(outer.div_ceil(lines as usize))
    }

    /// 64-bit words for tickets and for parts of `each` bytes; none for one part.
    pub const fn own(each: usize, outputs: usize, parts: usize) -> usize {
        match parts {
            1 => 0,
            _ => {
                let all = outputs.saturating_mul(parts).saturating_mul(each / 8);
                all.saturating_add(TICKETS / 2)
            }
        }
    }
}

/// Folds an array along an axis.
///
/// # Parameters
/// - `input`: `outer · extent · inner` elements.
/// - `values`: the results, and `more`: sums before they are rounded, indices of extremes. Each has
///   `outer · inner` elements, or none.
/// - `own`: [`Tiling::own`] words: [`TICKETS`] numbers, 0 before and after, and what parts leave.
/// - `rows`, `part`, `parts`: the [`Tiling`]. Of a block of several lines, `rows` is a power of two.
/// - `how`: see [`Along`]'s operations.
///
/// # Launch
/// Blocks of `cols` by `rows · lines` threads, at most [`THREADS`]. The grid strides over columns
/// along x, over parts along y, over lines along z.
#[kernel(
    instances((i64 | f32 | f64, Sum | Extreme)),
    name = "{O}_axis_{T}",
    max_threads = 256,
    min_blocks = 4,
    require(
        outer.checked_mul(extent).and_then(|rows| rows.checked_mul(inner)) == Some(input.len()),
        Tiling::has(values.len(), outer, inner),
        Tiling::has(more.len(), outer, inner),
        Tiling::fits(rows, [block.x, block.y, block.z], extent, part, parts),
        own.len() >= Tiling::own(size_of::<<O as Along>::Folded<T>>(), outer.saturating_mul(inner), parts),
        parts == 1 || Tiling::tiles(block.x, block.y / rows as u32, outer, inner) <= TICKETS,
        // Without a rule on the grid, blocks and threads count along x only.
        [grid.x, grid.y, grid.z] != [0; 3]
    )
)]
#[allow(
    clippy::too_many_arguments,
    reason = "an array with its extents, two results, the parts with their memory"
)]
pub fn fold_axis<T: Addend, O: Along>(
    input: &[T],
    mut values: Out<T>,
    mut more: Out<<O as Along>::More<T>>,
    mut own: Atomics<u64>,
    outer: usize,
    extent: usize,
    inner: usize,
    rows: usize,
    part: usize,
    parts: usize,
    how: u64,
) {
    let (has_values, has_more) = (!values.is_empty(), !more.is_empty());
    let of = Fold::<T, O> {
        input: input.as_ptr(),
        values: has_values.then_some(values.as_mut_ptr()),
        more: has_more.then_some(more.as_mut_ptr()),
        tickets: own.as_mut_ptr().cast(),
        own: own.as_mut_ptr().wrapping_add(TICKETS / 2).cast(),
        outer,
        // The index of an element among one is 0, whatever it is.
        extent: match O::IS_FIRST_OF_ONE && extent == 1 && !has_values {
            true => 0,
            false => extent,
        },
        inner,
        rows: rows as u32,
        part,
        parts,
        how,
    };
    // SAFETY: `require` states all of it.
    unsafe {
        match size_of::<T>() {
            4 if of.has_several() && of.is_packed::<4>() => of.each_packed::<4>(),
            8 if of.has_several() && of.is_packed::<2>() => of.each_packed::<2>(),
            _ if of.has_several() && extent <= SHORT[size_of::<T>() / 8] => of.each_short(),
            4 => of.each::<{ IN_FLIGHT / 4 }, { IN_FLIGHT / 8 }>(),
            _ => of.each::<{ IN_FLIGHT / 8 }, { IN_FLIGHT / 16 }>(),
        }
    }
}

/// A fold, as in [`fold_axis`].
struct Fold<T: Addend, O: Along> {
    input: *const T,
    values: Option<*mut T>,
    more: Option<*mut O::More<T>>,
    own: *mut O::Folded<T>,
    tickets: *mut u32,
    outer: usize,
    extent: usize,
    inner: usize,
    rows: u32,
    part: usize,
    parts: usize,
    how: u64,
}

impl<T: Addend, O: Along> Fold<T, O> {
    /// Folds all tiles of this block, groups of N rows at a time, or of HALF at the end.
    ///
    /// # Safety
    /// The kernel's `require` holds, and all threads of the launch call it, once.
    #[inline(always)]
    unsafe fn each<const N: usize, const HALF: usize>(&self) {
        let last = shared_array![u32; 1];
        let mut high = thread::block_idx_z() as usize;
        while high * (self.lines(0).0 as usize) < self.outer {
            let mut part = thread::block_idx_y();
            while part < self.parts as u32 {
                let mut wide = thread::block_idx_x() as usize;
                while wide * (thread::block_dim_x() as usize) < self.inner {
                    // SAFETY: passed on to the caller.
                    unsafe { self.tile::<N, HALF>([wide, high], part, last) };
                    wide += thread::grid_dim_x() as usize;
                }
                part += thread::grid_dim_y();
            }
            high += thread::grid_dim_z() as usize;
        }
    }

    /// A block's lines, and this thread's line and row among them. One line, whatever its rows; or
    /// several, which are told apart by a shift. Numbers without a branch: with one ptxas spills
    /// them.
    #[inline(always)]
    fn lines(&self, zero: u32) -> (u32, u32, u32) {
        let (high, at) = (thread::block_dim_y(), thread::thread_idx_y() + zero);
        let (shift, rest) = match high == self.rows {
            true => (31, u32::MAX),
            false => (self.rows.trailing_zeros(), self.rows - 1),
        };
        ((high >> shift).max(1), at >> shift, at & rest)
    }

    /// Folds a part of a tile's lines.
    ///
    /// # Safety
    /// As of [`each`](Self::each), and there is such a tile and part.
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

    /// Whether lines are short, each with one thread, and a block has several tiles.
    #[inline(always)]
    fn has_several(&self) -> bool {
        let (columns, lines) = self.at_once();
        self.rows == 1
            && self.parts == 1
            && self.extent <= PACKED
            && (columns < self.inner || lines < self.outer)
    }

    /// Whether a block has several tiles of columns, which come in packs.
    #[inline(always)]
    fn is_packed<const LANES: usize>(&self) -> bool {
        let (columns, _) = self.at_once();
        let values = self.values.map_or(0, |values| values.addr());
        let more = self.more.map_or(0, |more| more.addr());
        let bits = self.input.addr() | values | more;
        columns < self.inner
            && self.inner.is_multiple_of(LANES)
            && bits.is_multiple_of(crate::pack::BYTES)
    }

    /// Folds all short lines of this thread: of a pack of neighbouring columns at a time.
    ///
    /// # Safety
    /// As of [`each_short`](Self::each_short), and packs are whole and aligned.
    #[inline(always)]
    unsafe fn each_packed<const LANES: usize>(&self) {
        let (columns, lines) = self.at_once();
        let first = thread::block_idx_x() as usize * thread::block_dim_x() as usize;
        let first = (first + thread::thread_idx_x() as usize) * LANES;
        let line = thread::block_idx_z() as usize * thread::block_dim_y() as usize;
        let mut line = line + thread::thread_idx_y() as usize;
        while line < self.outer {
            let mut col = first;
            while col < self.inner {
                let at = line * self.extent * self.inner + col;
                let mut from = self.input.wrapping_add(at);
                let mut folded = [O::start::<T>(); LANES];
                let mut row = 0;
                while row < self.extent as u32 {
                    let rows: [[T; LANES]; PACKS] = core::array::from_fn(|i| {
                        let is_inside = row + (i as u32) < self.extent as u32;
                        // SAFETY: a pack of a row that exists, if it is inside.
                        let pack = unsafe { load_if::<T, LANES>(from, is_inside) };
                        from = pointer_here(from.wrapping_add(self.inner));
                        match is_inside {
                            true => pack,
                            false => [O::nothing(self.how); LANES],
                        }
                    });
                    unrolled::<LANES>(|lane| {
                        let column: [T; PACKS] = core::array::from_fn(|i| rows[i][lane]);
                        folded[lane] =
                            O::group(folded[lane], column, |i| (row + i) as usize, self.how);
                    });
                    row += PACKS as u32;
                }
                let to = line * self.inner + col;
                // SAFETY: these outputs exist and are this thread's; packs are aligned.
                unsafe {
                    if let Some(values) = self.values {
                        let pack = folded.map(|folded| O::value::<T>(folded, self.how));
                        values
                            .wrapping_add(to)
                            .cast::<Pack<T, LANES>>()
                            .write(Pack(pack));
                    }
                    if let Some(more) = self.more {
                        let more = more.wrapping_add(to);
                        unrolled::<LANES>(|lane| {
                            more.wrapping_add(lane).write(O::more::<T>(folded[lane]));
                        });
                    }
                }
                col += columns * LANES;
            }
            line += lines;
        }
    }

    /// Columns and lines of the grid.
    #[inline(always)]
    fn at_once(&self) -> (usize, usize) {
        let cols = thread::block_dim_x() as usize * thread::grid_dim_x() as usize;
        let lines = thread::block_dim_y() as usize * thread::grid_dim_z() as usize;
        (cols, lines)
    }

    /// Folds all short lines of this thread, [`ABREAST`] at a time.
    ///
    /// # Safety
    /// As of [`each`](Self::each); each line has one thread, and there is one part.
    #[inline(always)]
    unsafe fn each_short(&self) {
        let (columns, lines) = self.at_once();
        let of_thread = |block: u32, dim: u32, at: u32| block as usize * dim as usize + at as usize;
        let (block, dim, thread) = (
            thread::block_idx_x(),
            thread::block_dim_x(),
            thread::thread_idx_x(),
        );
        let col = of_thread(block, dim, thread);
        let (block, dim, thread) = (
            thread::block_idx_z(),
            thread::block_dim_y(),
            thread::thread_idx_y(),
        );
        let mut line = of_thread(block, dim, thread);
        // Of the grid's next tiles: along the columns, unless the grid has all of them.
        let is_wide = columns < self.inner;
        let (apart, end, lines_apart) = match is_wide {
            true => (columns, self.inner, 1),
            false => (lines, self.outer, self.inner),
        };
        let in_apart = match is_wide {
            true => columns,
            false => lines * self.extent * self.inner,
        };
        let times = |is: bool| if is { ABREAST } else { 1 };
        while line < self.outer {
            let mut at = col;
            while at < self.inner {
                let mut from = self
                    .input
                    .wrapping_add(line * self.extent * self.inner + at);
                let first = if is_wide { at } else { line };
                let mut folded = [O::start::<T>(); ABREAST];
                let mut row = 0;
                while row < self.extent as u32 {
                    let (mut output, mut of_output) = (first, from);
                    let elements: [[T; TOGETHER]; ABREAST] = core::array::from_fn(|_| {
                        let mut element = of_output;
                        of_output = pointer_here(of_output.wrapping_add(in_apart));
                        let exists = output < end;
                        output += apart;
                        core::array::from_fn(|j| {
                            let is_inside = exists && row + (j as u32) < self.extent as u32;
                            // SAFETY: an element of an output that exists, if it is inside.
                            let [loaded] = unsafe { load_if::<T, 1>(element, is_inside) };
                            element = pointer_here(element.wrapping_add(self.inner));
                            match is_inside {
                                true => loaded,
                                false => O::nothing(self.how),
                            }
                        })
                    });
                    unrolled::<ABREAST>(|i| {
                        folded[i] =
                            O::group(folded[i], elements[i], |j| (row + j) as usize, self.how);
                    });
                    row += TOGETHER as u32;
                    from = from.wrapping_add(TOGETHER * self.inner);
                }
                let mut to = line * self.inner + at;
                let mut output = first;
                let mut left = ABREAST;
                while left > zero_here() {
                    if output < end {
                        // SAFETY: it exists, and is this thread's.
                        unsafe { self.finish(to, folded[0]) };
                    }
                    to += apart * lines_apart;
                    output += apart;
                    folded = core::array::from_fn(|i| folded[(i + 1) % ABREAST]);
                    left -= 1;
                }
                at += columns * times(is_wide);
            }
            line += lines * times(!is_wide);
        }
    }

    /// What a thread folds of a column of a part, which begins at an index of its line and has `len`
    /// rows: the rows `row`, `row` + `rows`, …, the first of which is at `at`.
    ///
    /// # Safety
    /// The column and the part exist.
    #[inline(always)]
    unsafe fn share<const N: usize, const HALF: usize>(
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
            let [element] = unsafe { load_if::<T, 1>(here, inside) };
            if inside {
                element
            } else {
                O::nothing(self.how)
            }
        };
        let index = |row: u32, i: u32| begin + (row + i * rows) as usize;
        // All threads of a line take the same way, whatever their row: lanes of a warp that did not
        // would wait for the others' loads, and then for their own.
        let mut left = len;
        while left >= N as u32 * rows {
            let elements: [T; N] = core::array::from_fn(|_| next(true));
            folded = O::group(folded, elements, |i| index(row, i), self.how);
            row += N as u32 * rows;
            left -= N as u32 * rows;
        }
        if left > HALF as u32 * rows {
            let elements: [T; N] = core::array::from_fn(|i| next(row + i as u32 * rows < len));
            folded = O::group(folded, elements, |i| index(row, i), self.how);
        } else if left > 0 {
            let elements: [T; HALF] = core::array::from_fn(|i| next(row + i as u32 * rows < len));
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
                let slot = thread::thread_idx_y() * cols + thread::thread_idx_x();
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

    /// Writes an output's results.
    ///
    /// # Safety
    /// The output exists, and no other thread writes it.
    #[inline(always)]
    unsafe fn finish(&self, output: usize, folded: O::Folded<T>) {
        // The factor of a mean is not computed before the loops.
        let how = self.how + zero_here() as u64;
        // SAFETY: the caller's promise.
        unsafe {
            if let Some(values) = self.values {
                (values.wrapping_add(output)).write(O::value::<T>(folded, how));
            }
            if let Some(more) = self.more {
                (more.wrapping_add(output)).write(O::more::<T>(folded));
            }
        }
    }
}
