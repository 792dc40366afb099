//! Matrix transpose: output\[col, row\] = input\[row, col\], both row-major.
//!
//! Nothing is computed, so the kernels are by width: `u32` moves `f32` and `i32` too, `u64` moves `f64` and `i64`. What differs between
//! them is only how global and shared memory are walked.

pub mod aligned;
pub mod naive;
pub mod padded;
pub mod tiled;

use cuda_std::prelude::*;

use crate::number::Word;
use crate::unroll::unrolled;

/// Side of a tile, but for [`aligned`]. One row of a tile is one warp's access.
pub const TILE: u32 = 32;

/// Rows of threads in a block: each thread moves TILE / ROWS elements.
pub const ROWS: u32 = 8;

/// Elements of a tile that a thread moves. All its loads are under way before it stores the first.
const EACH: usize = (TILE / ROWS) as usize;

/// Calls `body(top, left)` for the corner of every tile of this block's share. All threads of a block get the same tiles.
#[inline(always)]
fn for_each_tile(rows: usize, cols: usize, mut body: impl FnMut(usize, usize)) {
    let tile = TILE as usize;
    let mut top = thread::block_idx_y() as usize * tile;
    while top < rows {
        let mut left = thread::block_idx_x() as usize * tile;
        while left < cols {
            body(top, left);
            left += thread::grid_dim_x() as usize * tile;
        }
        top += thread::grid_dim_y() as usize * tile;
    }
}

/// Moves every tile through shared memory whose rows are `PITCH` slots apart.
///
/// - Loads: thread (x, y) loads input\[top + j, left + x\] into slot (j, x), for j = y, y + ROWS, …: a warp reads a row (coalesced).
/// - Stores: thread (x, y) stores slot (x, j) to output\[left + j, top + x\]: a warp writes a row (coalesced) and reads a column of the tile.
///
/// # Safety
/// `input` and `output` have `rows · cols` elements, `tile` has `TILE · PITCH` slots in shared memory; a block is TILE × ROWS.
#[inline(always)]
unsafe fn through_tile<T: Word, const PITCH: usize>(
    input: &[T],
    output: *mut T,
    rows: usize,
    cols: usize,
    tile: *mut T,
) {
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    for_each_tile(rows, cols, |top, left| {
        if left + x < cols {
            let mut moved = [T::default(); EACH];
            unrolled::<EACH>(|i| {
                let j = y + i * ROWS as usize;
                if top + j < rows {
                    // SAFETY: inside the matrix.
                    moved[i] = unsafe { *input.get_unchecked((top + j) * cols + left + x) };
                }
            });
            unrolled::<EACH>(|i| {
                let j = y + i * ROWS as usize;
                if top + j < rows {
                    // SAFETY: this thread alone writes slot (j, x).
                    unsafe { tile.add(j * PITCH + x).write(moved[i]) };
                }
            });
        }
        // Every thread's loads of the tile come before any thread's reads of it.
        thread::sync_threads();
        if top + x < rows {
            unrolled::<EACH>(|i| {
                let j = y + i * ROWS as usize;
                if left + j < cols {
                    // SAFETY: this slot was loaded, for its element is inside the matrix; only this thread writes this output.
                    unsafe {
                        output
                            .add((left + j) * rows + top + x)
                            .write(tile.add(x * PITCH + j).read())
                    };
                }
            });
        }
        // Every thread's reads of this tile come before any thread's loads of the next one.
        thread::sync_threads();
    });
}
