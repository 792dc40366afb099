//! Exercise 14: a matrix product through tiles.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// Side of a tile, and of a block.
pub const TILE: usize = 16;

/// C = Aᵀ·B: c\[i, j\] = Σₖ a\[k, i\] · b\[k, j\].
#[kernel(require(a.rows() == b.rows(), c.rows() == a.cols(), c.cols() == b.cols()))]
pub fn product(
    block: &mut Block<TILE, TILE>,
    mut tile_a: Shared<Tile<u32, TILE, TILE>>,
    mut tile_b: Shared<Tile<u32, TILE, TILE>>,
    a: Matrix<u32>,
    b: Matrix<u32>,
    mut c: OutMatrix<u32, TILE, TILE>,
) {
    let (x, y) = block.thread_xy();
    for top in block.tiles_y::<TILE>(c.rows()) {
        for left in block.tiles_x::<TILE>(c.cols()) {
            let mut sum = 0;
            for step in (0..a.rows()).step_by(TILE) {
                let written = (
                    tile_a.write(block, |(k, i)| a.or_default(step + k, top.start() + i)),
                    tile_b.write(block, |(k, j)| b.or_default(step + k, left.start() + j)),
                );
                // Every thread's loads come before any thread's reads of both tiles.
                let (of_a, of_b) = block.sync_threads(written);
                for k in 0..TILE {
                    sum += of_a[k][y] * of_b[k][x];
                }
                // Every thread's reads come before any thread's next loads.
                (tile_a, tile_b) = block.sync_threads((of_a, of_b));
            }
            c.store(block, top, left, |_| sum);
        }
    }
}
