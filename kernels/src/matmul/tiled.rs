//! Matrix product with tiles of A and B in shared memory.
//!
//! Change from [`naive`](super::naive): a block computes a TILE × TILE tile of C. It walks along
//! the inner dimension in steps of TILE; at each step it loads one tile of A and one of B, and each
//! loaded element is used TILE times.
//!
//! - Loads: thread (x, y) loads A\[row, step + x\] into slot (y, x) of `tile_a` and
//!   B\[step + y, col\] into slot (y, x) of `tile_b`; zero outside the matrices, so that edges need
//!   no case in the inner loop. Both loads are coalesced.
//! - Thread (x, y) owns C\[row, col\] and sums in the order of k: the same values as the naive
//!   kernel's (a zero pad adds nothing).
//! - Reads per element of C: 2·inner/TILE from global memory, 2·inner from shared memory. In a warp
//!   (two rows of 16), `tile_a` is read at two addresses, each broadcast to 16 lanes, and `tile_b`
//!   at 16 adjacent ones: no bank conflict in f32.
//! - Two barriers per step. A thread outside C loads zeros and arrives at both.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

use super::TILE;
use crate::number::Real;

const SIDE: usize = TILE as usize;

/// C = A·B.
///
/// # Launch
/// Blocks of [`TILE`] × [`TILE`]; x runs over columns, y over rows. The grid strides over both.
// ANCHOR: kernel
#[kernel(
    instances(f32, f64),
    max_threads = 256,
    min_blocks = [8, 6],
    require(a.cols() == b.rows(), c.rows() == a.rows(), c.cols() == b.cols())
)]
pub fn matmul_tiled<T: Real>(
    block: &mut Block<SIDE, SIDE>,
    mut tile_a: Shared<Tile<T, SIDE, SIDE>>,
    mut tile_b: Shared<Tile<T, SIDE, SIDE>>,
    a: Matrix<T>,
    b: Matrix<T>,
    mut c: OutMatrix<T, SIDE, SIDE>,
) {
    let (x, y) = block.thread_xy();
    for top in block.tiles_y::<SIDE>(c.rows()) {
        for left in block.tiles_x::<SIDE>(c.cols()) {
            // A thread has one slot of each tile, (y, x): its row of A and column of B are the same
            // in every step.
            let (row, col) = (a.row(top.start() + y), b.col(left.start() + x));
            let mut sum = T::ZERO;
            let mut step = 0;
            while step < a.cols() {
                let written = (
                    tile_a.write(block, |(_, k)| {
                        row.get(step + k).copied().unwrap_or_default()
                    }),
                    tile_b.write(block, |(k, _)| col.get(step + k).unwrap_or_default()),
                );
                // Orders every thread's loads before any thread's reads of both tiles.
                let (of_a, of_b) = block.sync_threads(written);
                for k in 0..SIDE {
                    sum = of_a[y][k].mul_add(of_b[k][x], sum);
                }
                // Orders every thread's reads before any thread's next loads.
                (tile_a, tile_b) = block.sync_threads((of_a, of_b));
                step += SIDE;
            }
            c.store(block, top, left, |_| sum);
        }
    }
}
// ANCHOR_END: kernel
