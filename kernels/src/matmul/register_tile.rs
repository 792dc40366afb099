//! Matrix product with a tile of C in each thread's registers.
//!
//! Change from [`tiled`](super::tiled): a thread owns [`OWNED`] × [`OWNED`] elements of C instead
//! of one, so each element read from shared memory is used [`OWNED`] times. A block still has TILE
//! × TILE threads; it computes [`SIDE`] × [`SIDE`] elements.
//!
//! - Loads: in steps of [`DEPTH`] along the inner dimension, neighbouring threads load neighbouring
//!   elements of a row; zero outside the matrices. A's tile is stored transposed ([`ColMajor`]
//!   numbers its slots in the order of A), with one word of padding per row, so that neighbours
//!   store into different banks.
//! - Thread (x, y) owns C\[top + y + TILE·i, left + x + TILE·j\] for i, j < OWNED, and sums in the
//!   order of k: the values of the naive kernel.
//! - Reads per element of C: 2·inner/SIDE from global memory, 2·inner/OWNED from shared memory. In
//!   a warp `tile_a` is read at two addresses and `tile_b` at 16 neighbouring ones: no bank
//!   conflict in f32.
//! - Two barriers per step. A thread outside C arrives at both.
//!
//! On an H200 (docs/log/2026-11-22-safe-kernels.md) at 4096³: 29.2 TFLOP/s, `tiled` 8.1. The
//! `unsafe` form reached 28.8; with a test after each element of the inner dimension it is 28.2;
//! with loads that wait for each other 8.8, because of eight waits for global memory per step.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;
use cuda_std::unroll::{in_groups, unrolled};

use crate::number::Real;

/// Rows, and columns, of C that a thread owns.
pub const OWNED: u32 = 8;
/// Rows, and columns, of C that a block computes.
pub const SIDE: u32 = super::TILE * OWNED;
/// Elements of the inner dimension in a step.
pub const DEPTH: u32 = 8;

const TILE: usize = super::TILE as usize;
const EACH: usize = OWNED as usize;
const EDGE: usize = SIDE as usize;
const STEP: usize = DEPTH as usize;
/// Elements of the inner dimension between two tests for the end of a step.
const UNROLLED: usize = 4;
/// Words between the starts of two rows of a tile.
const PITCH: usize = EDGE + 1;

/// C = A·B.
///
/// # Launch
/// Blocks of [`TILE`](super::TILE) × [`TILE`](super::TILE), each for [`SIDE`] × [`SIDE`] elements;
/// x runs over columns, y over rows. The grid strides over both.
// ANCHOR: kernel
#[kernel(
    instances(f32, f64),
    require(a.cols() == b.rows(), c.rows() == a.rows(), c.cols() == b.cols())
)]
pub fn matmul_register_tile<T: Real>(
    block: &mut Block<TILE, TILE>,
    mut tile_a: Shared<Tile<T, STEP, EDGE, PITCH, ColMajor>>,
    mut tile_b: Shared<Tile<T, STEP, EDGE, PITCH>>,
    a: Matrix<T>,
    b: Matrix<T>,
    mut c: OutMatrix<T, EDGE, EDGE>,
) {
    let (x, y) = block.thread_xy();
    for top in block.tiles_y::<EDGE>(c.rows()) {
        for left in block.tiles_x::<EDGE>(c.cols()) {
            let mut sums = [[T::ZERO; EACH]; EACH];
            let mut step = 0;
            while step < a.cols() {
                let written = (
                    tile_a.write(block, |(k, row)| a.or_default(top.start() + row, step + k)),
                    tile_b.write(block, |(k, col)| b.or_default(step + k, left.start() + col)),
                );
                // Orders every thread's loads before any thread's reads of both tiles.
                let (of_a, of_b) = block.sync_threads(written);
                in_groups::<UNROLLED>(0..STEP, |k| {
                    let (mut rows, mut cols) = ([T::ZERO; EACH], [T::ZERO; EACH]);
                    unrolled::<EACH>(|i| {
                        rows[i] = of_a[k][y + TILE * i];
                        cols[i] = of_b[k][x + TILE * i];
                    });
                    unrolled::<EACH>(|i| {
                        unrolled::<EACH>(|j| sums[i][j] = rows[i].mul_add(cols[j], sums[i][j]));
                    });
                });
                // Orders every thread's reads before any thread's next loads.
                (tile_a, tile_b) = block.sync_threads((of_a, of_b));
                step += STEP;
            }
            c.store(block, top, left, |own| sums[own.i][own.j]);
        }
    }
}
// ANCHOR_END: kernel
