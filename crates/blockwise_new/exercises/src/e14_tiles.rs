//! Exercise 14: a matrix product through tiles.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// Side of a tile, and of a block.
pub const TILE: usize = 16;

/// C = Aᵀ·B: c\[i, j\] = Σₖ a\[k, i\] · b\[k, j\].
#[kernel(require(a.rows() == b.rows(), c.rows() == a.cols(), c.cols() == b.cols()))]
pub fn product(
    block: &mut Block<TILE, TILE>,
    a: Matrix<u32>,
    b: Matrix<u32>,
    mut c: OutMatrix<u32, TILE, TILE>,
) {
    for top in block.tiles_y::<TILE>(c.rows()) {
        for left in block.tiles_x::<TILE>(c.cols()) {
            // TODO: each element of A and B is loaded TILE times by the block. Walk along k in
            // steps of TILE, load a tile of A and one of B into shared memory, and add up from
            // there.
            c.store(block, top, left, |own| {
                let mut sum = 0;
                for k in 0..a.rows() {
                    sum += a.or_default(k, own.at_row) * b.or_default(k, own.at_col);
                }
                sum
            });
        }
    }
}
