//! Transpose through a padded tile of shared memory.

use cuda_std::prelude::*;

use crate::number::Word;
use crate::transpose::{ROWS, TILE};
use cuda_std::unroll::unrolled;

const SIDE: usize = TILE as usize;
/// Slots between the starts of two rows of the tile: one more than a row uses, so that the 32 slots
/// of a column are in 32 different banks.
const PITCH: usize = SIDE + 1;
/// Elements of a tile that a thread moves. All its loads are in flight before its first store.
const EACH: usize = (TILE / ROWS) as usize;

/// output\[col, row\] = input\[row, col\].
///
/// - Loads: thread (x, y) loads input\[top + j, left + x\] into slot (j, x), for j = y, y + ROWS, …
/// - Stores: thread (x, y) stores slot (x, j) to output\[left + j, top + x\].
///
/// # Parameters
/// - `input`: `rows · cols` elements, row-major. `output`: `cols · rows` elements, row-major.
///
/// # Launch
/// Blocks of [`TILE`] × [`ROWS`]; x runs over columns, y over rows of `input`. The grid strides
/// over both.
///
/// # Safety
/// The crate's rules; the matrices have those sizes; the block is as stated.
#[kernel(
    instances(u32),
    require(
        rows.checked_mul(cols) == Some(input.len()),
        output.len() == input.len(),
        [block.x, block.y, block.z, grid.z] == [TILE, ROWS, 1, 1]
    )
)]
pub unsafe fn transpose_padded_raw<T: Word>(input: &[T], output: *mut T, rows: usize, cols: usize) {
    let tile = shared_array![T; SIDE * PITCH];
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let mut top = thread::block_idx_y() as usize * SIDE;
    while top < rows {
        let mut left = thread::block_idx_x() as usize * SIDE;
        while left < cols {
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
                        // SAFETY: only this thread writes slot (j, x).
                        unsafe { tile.add(j * PITCH + x).write(moved[i]) };
                    }
                });
            }
            // Orders every thread's loads of the tile before any thread's reads of it.
            thread::sync_threads();
            if top + x < rows {
                unrolled::<EACH>(|i| {
                    let j = y + i * ROWS as usize;
                    if left + j < cols {
                        // SAFETY: this slot was loaded, because its element is inside the matrix;
                        // only this thread writes this output.
                        unsafe {
                            output
                                .add((left + j) * rows + top + x)
                                .write(tile.add(x * PITCH + j).read())
                        };
                    }
                });
            }
            // Orders every thread's reads of this tile before any thread's loads of the next one.
            thread::sync_threads();
            left += thread::grid_dim_x() as usize * SIDE;
        }
        top += thread::grid_dim_y() as usize * SIDE;
    }
}
