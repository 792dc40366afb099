//! Exercise 15: several sums in the registers of each thread.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// Side of a block, and steps along the inner extent.
pub const TILE: usize = 16;
/// Rows, and columns, of C that a block computes.
///
/// TODO: 32, so that a thread owns 2 × 2 elements. Then what it reads from the tiles serves two
/// sums each. Element (i, j) of a thread's own lies at row `y + TILE * i` and column `x + TILE * j`
/// of the tile; in `c.store` they are `own.i` and `own.j`.
pub const SIDE: usize = 16;

/// C = A·B.
#[kernel(require(a.cols() == b.rows(), c.rows() == a.rows(), c.cols() == b.cols()))]
pub fn multiply(
    block: &mut Block<TILE, TILE>,
    mut tile_a: Shared<Tile<u32, SIDE, TILE>>,
    mut tile_b: Shared<Tile<u32, TILE, SIDE>>,
    a: Matrix<u32>,
    b: Matrix<u32>,
    mut c: OutMatrix<u32, SIDE, SIDE>,
) {
    let (x, y) = block.thread_xy();
    for top in block.tiles_y::<SIDE>(c.rows()) {
        for left in block.tiles_x::<SIDE>(c.cols()) {
            let mut sum = 0;
            for step in (0..a.cols()).step_by(TILE) {
                let written = (
                    tile_a.write(block, |(row, k)| a.or_default(top.start() + row, step + k)),
                    tile_b.write(block, |(k, col)| b.or_default(step + k, left.start() + col)),
                );
                // Every thread's loads come before any thread's reads of both tiles.
                let (of_a, of_b) = block.sync_threads(written);
                for k in 0..TILE {
                    sum += of_a[y][k] * of_b[k][x];
                }
                // Every thread's reads come before any thread's next loads.
                (tile_a, tile_b) = block.sync_threads((of_a, of_b));
            }
            c.store(block, top, left, |_| sum);
        }
    }
}
