//! Transpose without shared memory: the baseline.
//!
//! Thread (x, y) moves input\[top + j, left + x\] for j = y, y + ROWS, …. A warp reads a row
//! (coalesced: 4 sectors of 32 bytes for `u32`) and writes a column: 32 elements in 32 different
//! sectors, using one eighth of each.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::{HEIGHT, SIDE};
use crate::number::Word;

/// Elements of a tile that each thread moves.
const EACH: usize = SIDE / HEIGHT;

/// output\[col, row\] = input\[row, col\].
///
/// # Parameters
/// - `input`: row-major. `output`: the same matrix, column-major.
///
/// # Launch
/// Blocks of [`TILE`](super::TILE) × [`ROWS`](super::ROWS); x runs over columns, y over rows of
/// `input`. The grid strides over both.
// ANCHOR: kernel
#[kernel(
    instances(u32, u64),
    require(input.rows() == output.rows(), input.cols() == output.cols())
)]
pub fn transpose_naive<T: Word>(
    block: &mut Block<SIDE, HEIGHT>,
    input: Matrix<T>,
    mut output: OutMatrix<T, SIDE, SIDE, ColMajor, RowMajor>,
) {
    let (x, y) = block.thread_xy();
    for top in block.tiles_y::<SIDE>(input.rows()) {
        for left in block.tiles_x::<SIDE>(input.cols()) {
            // All loads are in flight before the first store.
            let mut moved = [T::default(); EACH];
            unrolled::<EACH>(|i| {
                let (row, col) = (top.start() + y + i * HEIGHT, left.start() + x);
                moved[i] = input.or_default(row, col);
            });
            output.store(block, top, left, |own| moved[own.i]);
        }
    }
}
// ANCHOR_END: kernel
