//! Exercise 6: a turn in shared memory, so that global memory is read and written by rows.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// Side of a tile, and of a block.
pub const TILE: usize = 32;

/// An image turned clockwise: turned\[c, k\] = image\[rows − 1 − k, c\].
#[kernel(require(turned.rows() == image.cols(), turned.cols() == image.rows()))]
pub fn turn(
    block: &mut Block<TILE, TILE>,
    tile: Shared<Tile<u32, TILE, TILE>>,
    image: Matrix<u32>,
    mut turned: OutMatrix<u32, TILE, TILE>,
) {
    // `fill` has a barrier before the writes and one after them.
    let mut tile = tile.refill();
    for top in block.tiles_y::<TILE>(turned.rows()) {
        for left in block.tiles_x::<TILE>(turned.cols()) {
            // Slot (k, c) holds the element for row c and column k of the result's tile. Above the
            // image the row wraps to a huge number, which is outside too.
            let loaded = tile.fill(block, |(k, c)| {
                let row = image.rows().wrapping_sub(1 + left.start() + k);
                image.or_default(row, top.start() + c)
            });
            turned.store(block, top, left, |own| loaded[own.col][own.row]);
        }
    }
}
