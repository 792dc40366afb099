//! Transpose through a tile in shared memory.
//!
//! Change from [`naive`](super::naive): the transposition happens in shared memory, so global
//! memory is read and written by rows. The remaining weakness: a warp reads a column of the tile,
//! whose 32 slots are 32 words apart and so in one bank: a 32-way conflict.
//!
//! - Loads: thread (x, y) loads input\[top + j, left + x\] into slot (j, x), for j = y, y + ROWS,
//!   …: a warp reads a row (coalesced).
//! - Stores: thread (x, y) stores slot (x, j) to output\[left + j, top + x\]: a warp writes a row
//!   (coalesced) and reads a column of the tile.
//! - `fill` has two barriers: the first orders every thread's reads of the previous tile before the
//!   loads of this one, the second these loads before the reads.
//!
//! 16384² `f32` on an H200 (docs/log/2026-11-22-safe-kernels.md): 1.24 ms; `naive` takes 3.87 ms.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

use super::{HEIGHT, SIDE};
use crate::number::Word;

/// As [`transpose_naive`](super::naive::transpose_naive), through a tile in shared memory.
#[kernel(
    instances(u32, u64),
    require(input.rows() == output.rows(), input.cols() == output.cols())
)]
pub fn transpose_tiled<T: Word>(
    block: &mut Block<SIDE, HEIGHT>,
    tile: Shared<Tile<T, SIDE, SIDE>>,
    input: Matrix<T>,
    mut output: OutMatrix<T, SIDE, SIDE, ColMajor>,
) {
    through_tile(block, tile, input, &mut output);
}

/// Moves the block's tiles through a shared one whose rows start `PITCH` slots apart.
#[inline(always)]
// ANCHOR: tile
pub(super) fn through_tile<T: Word, const PITCH: usize>(
    block: &mut Block<SIDE, HEIGHT>,
    tile: Shared<Tile<T, SIDE, SIDE, PITCH>>,
    input: Matrix<T>,
    output: &mut OutMatrix<T, SIDE, SIDE, ColMajor>,
) {
    let mut tile = tile.refill();
    for top in block.tiles_y::<SIDE>(input.rows()) {
        for left in block.tiles_x::<SIDE>(input.cols()) {
            let loaded = tile.fill(block, |(row, col)| {
                input.or_default(top.start() + row, left.start() + col)
            });
            output.store(block, top, left, |own| loaded[own.row][own.col]);
        }
    }
}
// ANCHOR_END: tile
