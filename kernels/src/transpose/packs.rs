//! Transpose whose every global access is a pack of 16 bytes, whatever the matrix's extents.
//!
//! Change from [`aligned`](super::aligned): the input's rows are read from a whole pack on, as the
//! output's are written from a whole sector on. Rows of 4099 elements begin anywhere in a pack, so
//! a tile also holds the elements from the pack's begin to its first column, as it does the rows
//! from the sector's begin to its first row.
//!
//! - Tiles: [`ROWS`] rows and [`columns`]. Tiles overlap by [`BEFORE`] rows and one pack.
//! - Loads: a warp loads a row at a time, lane l its l-th pack: 512 adjacent bytes (coalesced). All
//!   of a thread's loads are in flight before it stores the first one.
//! - Slots: the tile is kept by elements. The columns of a row that have the same place in a pack
//!   lie side by side, and rows an odd number of slots apart.
//!   - Writes: 32 lanes write adjacent slots. No bank conflict.
//!   - Reads: 8 lanes have packs of one output row, 4 lanes neighbours with the same place. Rows of
//!     neighbouring packs are 4 · 133 slots apart, neighbours one slot. No bank conflict.
//! - Stores: 8 lanes store adjacent packs of an output row, 128 bytes from a whole sector on.
//! - Adjacent blocks take tiles below each other, as in `aligned`.
//! - Tiles at an edge move single elements: 32 lanes store neighbours of an output row.
//! - The first barrier orders every thread's writes of a tile before any thread's reads of it, the
//!   second these reads before the next tile's writes.
//!
//! On an H200: 0.916 of the copy's bandwidth at 16381 × 16411 of `f32`, `aligned` 0.898; at 4001 ×
//! 4003 0.895 and 0.809 (docs/log/2026-11-23-transposes.md).

use core::array::from_fn;

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use crate::number::Word;
use crate::pack::{Pack, lanes};

/// Rows by which tiles are apart.
pub const ROWS: u32 = 64;
/// Rows of the tile above that a tile also holds. Its output rows begin at a multiple of as many
/// elements: one sector of `u32`, two of `u64`.
pub const BEFORE: u32 = 8;
/// Warps of a block.
const WARPS: usize = 8;
/// Threads of a block.
pub const THREADS: u32 = 32 * WARPS as u32;
/// Packs of a row: one for each lane.
const PACKS: usize = 32;
/// Adjacent lanes that store packs of one row of the output.
const RUN: usize = 8;
/// Rows of a tile.
const HIGH: usize = (ROWS + BEFORE) as usize;

/// Columns by which tiles are apart: all packs but the one that the next tile begins in.
pub const fn columns<T>() -> u32 {
    ((PACKS - 1) * lanes::<T>()) as u32
}

/// Slots from one row of a tile to the next: those of its packs, of one more for what comes before
/// the first column, and one that makes their number odd.
const fn pitch(lanes: usize) -> usize {
    (PACKS + 1) * lanes + 1
}

/// Slots of a tile.
pub const fn slots<T>() -> u32 {
    (HIGH * pitch(lanes::<T>())) as u32
}

/// Runs of a tile's output row.
const fn runs<T>() -> usize {
    ROWS as usize / (RUN * lanes::<T>())
}

/// Rows that the tiles cover: an output row ends up to `BEFORE - 1` elements after a tile's last.
pub const fn reach(rows: usize) -> usize {
    rows.saturating_add(BEFORE as usize - 1)
}

/// output\[col, row\] = input\[row, col\].
///
/// # Parameters
/// - `input`: `rows · cols` elements, row-major. `output`: `cols · rows` elements, row-major.
///
/// # Launch
/// One-dimensional blocks of [`THREADS`]; x runs over [`reach`] rows of `input` in tiles of
/// [`ROWS`], y over its columns in tiles of [`columns`]. The grid strides over both.
#[kernel(
    instances(u32, u64),
    max_threads = 256,
    min_blocks = 4,
    require(
        rows.checked_mul(cols) == Some(input.len()),
        output.len() == input.len(),
        [block.x, block.y, block.z, grid.z] == [THREADS, 1, 1, 1]
    )
)]
pub fn transpose_packs<T: Word>(input: &[T], mut output: Out<T>, rows: usize, cols: usize) {
    let slots = shared_array![T; slots::<T>() as usize];
    let (from, to) = (input.as_ptr(), output.as_mut_ptr());
    if rows == 0 || cols == 0 {
        // The other side may be too long to count through.
        return;
    }
    let (high, wide) = (ROWS as usize, columns::<T>() as usize);
    let mut top = thread::block_idx_x() as usize * high;
    while top < reach(rows) {
        let mut left = thread::block_idx_y() as usize * wide;
        while left < cols {
            let tile = Tile {
                slots,
                extents: [rows, cols],
                first: [top, left],
            };
            // SAFETY: `require` states the matrices' sizes and the block, whose threads all come
            // here; one layer of blocks takes no tile twice.
            unsafe {
                tile.load::<{ lanes::<T>() }>(from);
                // Orders every thread's writes of the tile before any thread's reads of it.
                thread::sync_threads();
                tile.store::<{ lanes::<T>() }, { runs::<T>() }>(to);
            }
            left += thread::grid_dim_y() as usize * wide;
            // Orders every thread's reads of this tile before any thread's writes of the next one.
            thread::sync_threads();
        }
        top += thread::grid_dim_x() as usize * high;
    }
}

/// A tile: its slots in shared memory, the matrix's extents, and the first row and column. The tile
/// also holds [`BEFORE`] rows above, and up to a pack's columns on the left.
struct Tile<T> {
    slots: *mut T,
    extents: [usize; 2],
    first: [usize; 2],
}

impl<T: Word> Tile<T> {
    /// Whether the matrix has all rows and columns that the tile may hold.
    #[inline(always)]
    fn is_inside(&self, lanes: usize) -> bool {
        let ([rows, cols], [top, left]) = (self.extents, self.first);
        top > 0 && top + ROWS as usize <= rows && left + PACKS * lanes <= cols
    }

    /// The slot of a column, counted from one pack before the tile's first one, in the first row.
    #[inline(always)]
    fn slot(col: usize, lanes: usize) -> usize {
        col % lanes * (PACKS + 1) + col / lanes
    }

    /// # Safety
    /// The slots are there, and nobody else reads or writes them; `from` has the matrix's elements.
    /// All threads of the block call it.
    #[inline(always)]
    unsafe fn load<const LANES: usize>(&self, from: *const T) {
        const LOADS: usize = HIGH / WARPS;
        let ([rows, cols], [top, left]) = (self.extents, self.first);
        let pitch = const { pitch(LANES) };
        let thread = thread::thread_idx_x() as usize;
        let (warp, lane) = (thread / 32, thread % 32);
        // The first of this thread's rows. Above row 0 there is none.
        let row = (top + warp).wrapping_sub(BEFORE as usize);
        let first = row.wrapping_mul(cols).wrapping_add(left);
        // Elements from a whole pack to there: as many in each of this thread's rows, which are a
        // multiple of LANES apart.
        let early = (from.wrapping_add(first).addr() / size_of::<T>()) % LANES;
        let slots: [*mut T; LANES] = from_fn(|i| {
            let col = (lane + 1) * LANES + i - early;
            self.slots
                .wrapping_add(warp * pitch + Self::slot(col, LANES))
        });
        if self.is_inside(LANES) {
            let first = first.wrapping_sub(early) + lane * LANES;
            let mut packs = [Pack([T::default(); LANES]); LOADS];
            unrolled::<LOADS>(|j| {
                // SAFETY: a whole pack, inside the matrix because its row and its columns are;
                // those before column 0 are in the row above, which is inside too.
                packs[j] = unsafe {
                    let pack = from.add(first + j * WARPS * cols);
                    pack.cast::<Pack<T, LANES>>().read()
                };
            });
            unrolled::<LOADS>(|j| {
                unrolled::<LANES>(|i| {
                    // SAFETY: the slot is inside the tile, and this thread's alone.
                    unsafe { slots[i].add(j * WARPS * pitch).write(packs[j].0[i]) };
                });
            });
            return;
        }
        let mut down = 0;
        while warp + down < HIGH {
            let row = row.wrapping_add(down);
            unrolled::<LANES>(|i| {
                let col = (left + lane * LANES + i).wrapping_sub(early);
                if row < rows && col < cols {
                    // SAFETY: inside the matrix; the slot is inside the tile, and this thread's
                    // alone.
                    unsafe {
                        let element = from.add(row * cols + col).read();
                        slots[i].add(down * pitch).write(element);
                    }
                }
            });
            down += WARPS;
        }
    }

    /// # Safety
    /// The tile was loaded, before a barrier; `to` has as many elements as the matrix, of which
    /// only this block writes the tile's. All threads of the block call it.
    #[inline(always)]
    unsafe fn store<const LANES: usize, const RUNS: usize>(&self, to: *mut T) {
        let ([rows, cols], [top, left]) = (self.extents, self.first);
        let (high, wide, before) = (ROWS as usize, (PACKS - 1) * LANES, BEFORE as usize);
        let pitch = const { pitch(LANES) };
        let thread = thread::thread_idx_x() as usize;
        if self.is_inside(LANES) {
            let (group, run) = (thread / RUN, thread % RUN);
            // Where the output row of the group's first column has the tile's first row, and
            // elements from a multiple of BEFORE to there. In 32 bits: 64 would cost registers, and
            // those a resident block.
            let start = (left + group * LANES) * rows + top;
            let early = (to.wrapping_add(start).addr() / size_of::<T>()) as u32;
            if group == PACKS - 1 {
                // These columns are the next tile's.
                return;
            }
            unrolled::<LANES>(|i| {
                let early = early.wrapping_add(i as u32 * rows as u32) as usize % before;
                let row = before + run * LANES - early;
                let slot = row * pitch + Self::slot((group + 1) * LANES + i, LANES);
                let at = start + i * rows + row - before;
                unrolled::<RUNS>(|j| {
                    let down = j * RUN * LANES;
                    // SAFETY: the slots were written before the barrier; the pack is whole, inside
                    // the output, and this thread's alone.
                    unsafe {
                        let slot = self.slots.add(slot + down * pitch);
                        let pack = from_fn(|i| slot.add(i * pitch).read());
                        to.add(at + down).cast::<Pack<T, LANES>>().write(Pack(pack));
                    }
                });
            });
            return;
        }
        let (warp, lane) = (thread / 32, thread % 32);
        let mut col = warp;
        while col < wide && left + col < cols {
            let start = (left + col) * rows + top;
            let early = (to.wrapping_add(start).addr() / size_of::<T>()) % before;
            let mut down = lane;
            while down < high {
                let row = (top + down).wrapping_sub(early);
                if row < rows {
                    let slot = (before + down - early) * pitch + Self::slot(LANES + col, LANES);
                    // SAFETY: the slot was written before the barrier; the element is inside the
                    // output, and this thread's alone.
                    unsafe {
                        let element = self.slots.add(slot).read();
                        to.add((left + col) * rows + row).write(element);
                    }
                }
                down += 32;
            }
            col += WARPS;
        }
    }
}
