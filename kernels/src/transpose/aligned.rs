//! Transpose whose writes start at whole memory sectors.
//!
//! Change from [`padded`](super::padded): unless the number of rows is a multiple of the elements
//! of a sector, a tile's rows of the output start and end inside a sector, which two blocks then
//! write in parts. Here they start at a multiple of [`ALIGN`] elements: the tile also holds up to
//! that many of the input's next rows, and leaves as many to the tile above. Tiles are larger too,
//! and all loads of a thread are in flight before its first store.
//!
//! - Loads: thread t loads column t % cols of rows t / cols, t / cols + THREADS / cols, …: a warp
//!   reads 32 adjacent elements (coalesced).
//! - Stores: thread t stores element t % ROWS, counted from the first multiple, of output rows t /
//!   ROWS, …: coalesced too. A warp reads a column of the tile, whose rows are padded by one slot:
//!   no bank conflict.
//! - Neighbouring blocks take tiles below each other: rows that two tiles load come from the L2
//!   cache, and blocks that run concurrently write neighbouring output.
//! - Tiles at an edge are handled the same way, with a guard per element.
//!
//! Share of the copy's bandwidth (4.19 to 4.26 TB/s) on an H200, driver 580.159, 2026-11-21,
//! medians of 20:
//!
//! | tile, multiple, threads | 16384² `u32` | 16381 × 16411 |
//! | --- | --- | --- |
//! | **64 × 128, 8, 512** | 0.963 | **0.907** |
//! | 64 × 64, 8, 256 | 0.965 | 0.895 |
//! | 64 × 64, 8, 512 | 0.900 | 0.888 |
//! | 64 × 64, 32, 256 | 0.957 | 0.886 |
//! | 128 × 64, 32, 512 | 0.956 | 0.890 |
//! | 128 × 32, 8, 256 | 0.938 | 0.877 |
//!
//! The first is [`TILE`]; the second is in the crate `ladder`.

use cuda_std::prelude::*;

use crate::number::Word;
use cuda_std::unroll::unrolled;

/// Rows per tile.
pub const ROWS: u32 = 64;

/// A tile's output rows start at a multiple of this many elements: one sector of `u32`, two of
/// `u64`.
pub const ALIGN: u32 = 8;

/// A tile by the threads per block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Threads of a block.
    pub threads: u32,
}

/// The tile of the kernel here: 512 bytes a row.
pub const TILE: Tile = Tile { threads: 512 };

impl Tile {
    /// Columns per tile for elements of type `T`: one byte per thread.
    pub const fn cols<T>(self) -> u32 {
        self.threads / size_of::<T>() as u32
    }

    /// Slots of a tile for elements of type `T`.
    pub const fn slots<T>(self) -> u32 {
        (ROWS + ALIGN) * (self.cols::<T>() + 1)
    }
}

/// A thread's elements in `rows` rows of a tile, each of which has one byte per thread.
pub const fn share<T>(rows: u32) -> usize {
    rows as usize / size_of::<T>()
}

/// output\[col, row\] = input\[row, col\].
///
/// # Parameters
/// - `input`: `rows · cols` elements, row-major. `output`: `cols · rows` elements, row-major.
///
/// # Launch
/// One-dimensional blocks of [`TILE`]'s threads; x runs over rows of `input`, y over columns,
/// in tiles of [`ROWS`] rows and that instance's columns. The grid strides over both.
#[kernel(
    instances(u32, u64),
    require(
        rows.checked_mul(cols) == Some(input.len()),
        output.len() == input.len(),
        [block.x, block.y, block.z, grid.z] == [TILE.threads, 1, 1, 1]
    )
)]
pub fn transpose_aligned<T: Word>(input: &[T], mut output: Out<T>, rows: usize, cols: usize) {
    const COLS: usize = TILE.cols::<T>() as usize;
    const THREADS: usize = TILE.threads as usize;
    let tile = shared_array![T; TILE.slots::<T>() as usize];
    // SAFETY: `require` states the matrices' sizes, the block and one layer of blocks; the tile has
    // its slots.
    unsafe {
        through_multiples::<T, THREADS, COLS, { share::<T>(ROWS + ALIGN) }, { share::<T>(ROWS) }>(
            input,
            output.as_mut_ptr(),
            [rows, cols],
            tile,
        )
    }
}

/// The body of a kernel with tiles of one size.
///
/// # Safety
/// `input` and `output` have `rows · cols` elements each, and only this launch uses the output. All
/// threads of the launch call it. A block has THREADS threads along x, the grid one layer, a tile
/// COLS columns, and `tile` its slots in shared memory; LOADS and STORES are the numbers of
/// elements of a tile that a thread loads and stores.
#[inline(always)]
pub unsafe fn through_multiples<
    T: Word,
    const THREADS: usize,
    const COLS: usize,
    const LOADS: usize,
    const STORES: usize,
>(
    input: &[T],
    output: *mut T,
    [rows, cols]: [usize; 2],
    tile: *mut T,
) {
    const HIGH: usize = ROWS as usize;
    const MORE: usize = ALIGN as usize;
    if cols == 0 {
        // With no elements per row, the number of rows may be too large to loop over.
        return;
    }
    let across = THREADS / HIGH;
    let pitch = COLS + 1;
    let down = THREADS / COLS;
    let thread = thread::thread_idx_x() as usize;
    let (from_col, from_row) = (thread % COLS, thread / COLS);
    let (to_row, to_col) = (thread % HIGH, thread / HIGH);

    let mut top = thread::block_idx_x() as usize * HIGH;
    while top < rows {
        let mut left = thread::block_idx_y() as usize * COLS;
        while left < cols {
            let inside = top > 0 && top + HIGH + MORE <= rows && left + COLS <= cols;
            let slot = tile.wrapping_add(from_row * pitch + from_col);
            if inside {
                // SAFETY: the rows that the next tile starts with are inside the matrix too; only
                // this thread writes these slots.
                unsafe {
                    let first = (top + from_row) * cols + left + from_col;
                    let from = input.as_ptr().add(first);
                    let mut moved = [T::default(); LOADS];
                    unrolled::<LOADS>(|j| moved[j] = from.add(j * down * cols).read());
                    unrolled::<LOADS>(|j| slot.add(j * down * pitch).write(moved[j]));
                }
            } else {
                let (mut row, col) = (from_row, left + from_col);
                while row < HIGH + MORE {
                    if top + row < rows && col < cols {
                        // SAFETY: inside the matrix; only this thread writes this slot.
                        unsafe {
                            let element = *input.get_unchecked((top + row) * cols + col);
                            tile.add(row * pitch + from_col).write(element);
                        }
                    }
                    row += down;
                }
            }
            // Orders every thread's loads of the tile before any thread's reads of it.
            thread::sync_threads();

            // Where the tile's first row goes: in the output row of column `left + col`.
            let out = |col: usize| output.wrapping_add((left + col) * rows + top);
            // Elements from there to the first multiple of MORE.
            let skipped = |col: usize| (out(col).addr() / size_of::<T>()).wrapping_neg() % MORE;
            // SAFETY: the slot was loaded, because its element is inside the matrix; only this
            // thread writes this output element.
            let store = |row: usize, col: usize| unsafe {
                out(col).add(row).write(tile.add(row * pitch + col).read());
            };
            if inside {
                // Offsets between this thread's output rows, in 32 bits: 64 bits would take
                // registers and cost a resident block.
                let (to, first) = (out(to_col), skipped(to_col) as u32);
                let step = (across * rows) as u32;
                let from = tile.wrapping_add(to_row * pitch + to_col);
                unrolled::<STORES>(|j| {
                    let skipped = first.wrapping_sub(j as u32 * step) as usize % MORE;
                    // SAFETY: as in `store`.
                    unsafe {
                        let slot = from.add(skipped * pitch + j * across);
                        to.add(j * across * rows + skipped + to_row)
                            .write(slot.read());
                    }
                });
            } else {
                let mut col = to_col;
                while col < COLS && left + col < cols {
                    let first = skipped(col);
                    let mut row = to_row;
                    while row < HIGH + first && top + row < rows {
                        // Elements before the first multiple belong to the tile above, if one
                        // exists.
                        if row >= first || top == 0 {
                            store(row, col);
                        }
                        row += HIGH;
                    }
                    col += across;
                }
            }
            left += thread::grid_dim_y() as usize * COLS;
            // Orders every thread's reads of this tile before any thread's loads of the next one.
            thread::sync_threads();
        }
        top += thread::grid_dim_x() as usize * HIGH;
    }
}
