//! Exercise 7: a column of a tile in 32 different banks.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// Threads of a block, and side of a tile.
pub const SIDE: usize = 32;

/// sums\[row\] = Σ a\[row, col\], for matrices of 32 columns. The tile is loaded by rows; then each
/// thread adds up one of them.
///
/// TODO: in the sum, lane l reads slot (l, col): 32 slots that lie 32 words apart, all in one bank.
#[kernel(require(a.cols() == SIDE, a.rows() == sums.len()))]
pub fn row_sums(
    block: &mut Block<SIDE>,
    tile: Shared<Tile<u32, SIDE, SIDE>>,
    a: Matrix<u32>,
    mut sums: Out<u32>,
) {
    let mut tile = tile.refill();
    let lane = block.thread();
    for place in block.tiles(sums.len()) {
        let loaded = tile.fill(block, |(row, col)| a.or_default(place.start() + row, col));
        sums.store(block, place, |_| {
            let mut sum = 0;
            for col in 0..SIDE {
                sum += loaded[lane][col];
            }
            sum
        });
    }
}
