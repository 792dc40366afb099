//! Transpose with 16-byte packs in every global access, for any extents.
//!
//! Change from [`aligned`](super::aligned): the reads of input rows start at whole packs, as the
//! writes of output rows start at whole sectors. A row of 4099 elements starts anywhere in a pack,
//! so a tile also holds the elements between the start of that pack and its first column, as it
//! does the rows between the start of the sector and its first row.
//!
//! - Tiles: [`ROWS`] rows and [`columns`]. Tiles overlap by [`BEFORE`] rows and one pack.
//! - Loads: a warp loads one row at a time, lane l its l-th pack: 512 contiguous bytes (coalesced).
//!   All loads of a thread are in flight before its first store.
//! - Slots: the tile is stored by elements. The columns of a row that have the same position in a
//!   pack are adjacent, and rows are an odd number of slots apart.
//!   - Writes: 32 lanes write adjacent slots. No bank conflict.
//!   - Reads: 8 lanes read packs of one output row, 4 lanes its neighbours with the same position
//!     in a pack. Rows of neighbouring packs are 4 · 133 slots apart, neighbours one slot. No bank
//!     conflict.
//! - Stores: 8 lanes store adjacent packs of an output row, 128 bytes from the start of a sector.
//! - Neighbouring blocks take tiles below each other, as in `aligned`.
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

/// Rows between the starts of two tiles.
pub const ROWS: u32 = 64;
/// Rows of the tile above that a tile also holds. Its output rows start at a multiple of this many
/// elements: one sector of `u32`, two of `u64`.
pub const BEFORE: u32 = 8;
/// Warps of a block.
const WARPS: usize = 8;
/// Threads of a block.
pub const THREADS: u32 = 32 * WARPS as u32;
/// Packs per row: one per lane.
const PACKS: usize = 32;
/// Adjacent lanes that store packs of one output row.
const RUN: usize = 8;
/// Rows of a tile.
const HIGH: usize = (ROWS + BEFORE) as usize;

/// Columns between the starts of two tiles: all packs but the one in which the next tile starts.
pub const fn columns<T>() -> u32 {
    ((PACKS - 1) * lanes::<T>()) as u32
}

/// Slots between the starts of two rows of a tile: those of its packs, one more pack for what
/// precedes the first column, and one slot that makes the number odd.
const fn pitch(lanes: usize) -> usize {
    (PACKS + 1) * lanes + 1
}

/// Slots of a tile.
pub const fn slots<T>() -> u32 {
    (HIGH * pitch(lanes::<T>())) as u32
}

/// Runs of a tile's output row, each of RUN packs.
const fn runs<T>() -> usize {
    ROWS as usize / (RUN * lanes::<T>())
}

/// Rows that the tiles cover: an output row ends up to `BEFORE - 1` elements after a tile's last
/// row.
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
        // With one extent 0, the other may be too large to loop over.
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
            // SAFETY: `require` states the matrices' sizes and the block, all of whose threads get
            // here; the grid has one layer of blocks, and no tile is taken twice.
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

/// A tile: its slots in shared memory, the matrix's extents, and its first row and column. It also
/// holds [`BEFORE`] rows above, and less than a pack of columns on the left.
struct Tile<T> {
    slots: *mut T,
    extents: [usize; 2],
    first: [usize; 2],
}

impl<T: Word> Tile<T> {
    /// Whether the matrix has every row and column that the tile can hold.
    #[inline(always)]
    fn is_inside(&self, lanes: usize) -> bool {
        let ([rows, cols], [top, left]) = (self.extents, self.first);
        top > 0 && top + ROWS as usize <= rows && left + PACKS * lanes <= cols
    }

    /// The slot of a column in the first row. Columns count from one pack before the tile's first
    /// one.
    #[inline(always)]
    fn slot(col: usize, lanes: usize) -> usize {
        col % lanes * (PACKS + 1) + col / lanes
    }

    /// # Safety
    /// The slots exist, and no other code reads or writes them; `from` has the matrix's elements.
    /// All threads of the block call it.
    #[inline(always)]
    unsafe fn load<const LANES: usize>(&self, from: *const T) {
        const LOADS: usize = HIGH / WARPS;
        let ([rows, cols], [top, left]) = (self.extents, self.first);
        let pitch = const { pitch(LANES) };
        let thread = thread::thread_idx_x() as usize;
        let (warp, lane) = (thread / 32, thread % 32);
        // The first of this thread's rows; above row 0 it wraps.
        let row = (top + warp).wrapping_sub(BEFORE as usize);
        let first = row.wrapping_mul(cols).wrapping_add(left);
        // Elements between the start of the pack and `from + first`: the same in each of this
        // thread's rows, which are a multiple of LANES apart.
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
                // SAFETY: a whole pack, inside the matrix because its row and columns are; elements
                // before column 0 are in the row above, which is inside too.
                packs[j] = unsafe {
                    let pack = from.add(first + j * WARPS * cols);
                    pack.cast::<Pack<T, LANES>>().read()
                };
            });
            unrolled::<LOADS>(|j| {
                unrolled::<LANES>(|i| {
                    // SAFETY: the slot is inside the tile; only this thread writes it.
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
                    // SAFETY: inside the matrix; the slot is inside the tile, and only this thread
                    // writes it.
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
    /// The tile was loaded, and a barrier followed; `to` has as many elements as the matrix, and
    /// only this block writes the tile's elements. All threads of the block call it.
    #[inline(always)]
    unsafe fn store<const LANES: usize, const RUNS: usize>(&self, to: *mut T) {
        let ([rows, cols], [top, left]) = (self.extents, self.first);
        let (high, wide, before) = (ROWS as usize, (PACKS - 1) * LANES, BEFORE as usize);
        let pitch = const { pitch(LANES) };
        let thread = thread::thread_idx_x() as usize;
        if self.is_inside(LANES) {
            let (group, run) = (thread / RUN, thread % RUN);
            // Where the tile's first row is in the output row of the group's first column, and the
            // number of elements from a multiple of BEFORE to there. In 32 bits: 64 would take
            // registers and cost a resident block.
            let start = (left + group * LANES) * rows + top;
            let early = (to.wrapping_add(start).addr() / size_of::<T>()) as u32;
            if group == PACKS - 1 {
                // These columns belong to the next tile.
                return;
            }
            unrolled::<LANES>(|i| {
                let early = early.wrapping_add(i as u32 * rows as u32) as usize % before;
                let row = before + run * LANES - early;
                let slot = row * pitch + Self::slot((group + 1) * LANES + i, LANES);
                let at = start + i * rows + row - before;
                unrolled::<RUNS>(|j| {
                    let down = j * RUN * LANES;
                    // SAFETY: the slots were written before the barrier; the pack is whole and
                    // inside the output, and only this thread writes it.
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
                    // output, and only this thread writes it.
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
