//! Transpose without shared memory: the version to compare with.
//!
//! Thread (x, y) moves input\[top + j, left + x\] for j = y, y + ROWS, …. A warp reads a row (coalesced: 4 sectors of 32 bytes for `u32`) and
//! writes a column: 32 elements in 32 different sectors, one eighth of each used.

use cuda_std::prelude::*;

use super::{EACH, ROWS, for_each_tile};
use crate::number::Word;
use crate::unroll::unrolled;

/// output\[col, row\] = input\[row, col\].
///
/// # Parameters
/// - `input`: `rows · cols` elements, row-major. `output`: `cols · rows` elements, row-major.
///
/// # Launch
/// Blocks of [`TILE`](super::TILE) × [`ROWS`]; x runs over columns, y over rows of `input`. The grid strides over both.
///
/// # Safety
/// The crate's rules; the matrices have those sizes; the block is as stated.
#[kernel(
    instances(u32, u64),
    require(
        rows.checked_mul(cols) == Some(input.len()),
        output.len() == input.len(),
        [block.x, block.y, block.z, grid.z] == [super::TILE, ROWS, 1, 1]
    )
)]
pub unsafe fn transpose_naive<T: Word>(input: &[T], output: *mut T, rows: usize, cols: usize) {
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    for_each_tile(rows, cols, |top, left| {
        let col = left + x;
        let row = |i: usize| top + y + i * ROWS as usize;
        let mut moved = [T::default(); EACH];
        if col < cols {
            unrolled::<EACH>(|i| {
                if row(i) < rows {
                    // SAFETY: inside the matrix.
                    moved[i] = unsafe { *input.get_unchecked(row(i) * cols + col) };
                }
            });
            unrolled::<EACH>(|i| {
                if row(i) < rows {
                    // SAFETY: inside the matrix, and only this thread has this row and column.
                    unsafe { output.add(col * rows + row(i)).write(moved[i]) };
                }
            });
        }
    });
}
