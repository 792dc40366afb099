//! Exercise 6: a turn in shared memory, so that global memory is read and written by rows.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// Side of a tile, and of a block.
pub const TILE: usize = 32;

/// An image turned clockwise: turned\[c, k\] = image\[rows − 1 − k, c\].
#[kernel(require(turned.rows() == image.cols(), turned.cols() == image.rows()))]
pub fn turn(
    block: &mut Block<TILE, TILE>,
    image: Matrix<u32>,
    mut turned: OutMatrix<u32, TILE, TILE>,
) {
    for top in block.tiles_y::<TILE>(turned.rows()) {
        for left in block.tiles_x::<TILE>(turned.cols()) {
            // TODO: a warp stores a row, but loads a column of the image. Load the block's part of
            // the image by rows into a `Shared<Tile<u32, TILE, TILE>>`, a parameter that the launch
            // need not know, and take the elements from there.
            turned.store(block, top, left, |own| {
                image.or_default(image.rows() - 1 - own.at_col, own.at_row)
            });
        }
    }
}
