//! Matrix product with a tile of C in each thread's registers.
//!
//! Change from [`tiled`](super::tiled): a thread owns [`OWNED`] × [`OWNED`] elements of C instead of one, so that an element read
//! from shared memory is used [`OWNED`] times, not once. A block still has TILE × TILE threads and computes [`SIDE`] × [`SIDE`] elements.
//!
//! - Loads: in steps of [`DEPTH`] along the inner dimension, neighbouring threads load neighbouring elements of a row; zero outside the
//!   matrices. A's tile is stored transposed, and padded by one word a row, so that neighbours store into different banks.
//! - Thread (x, y) owns C\[top + y + TILE·i, left + x + TILE·j\] for i, j < OWNED, and sums in the order of k: the values of the naive kernel.
//! - Reads per element of C: 2·inner/SIDE from global memory, 2·inner/OWNED from shared memory. In a warp `tile_a` is read at two
//!   addresses and `tile_b` at 16 neighbouring ones: no bank conflict in f32.
//! - Two barriers for each step. A thread outside C takes part in both.
//!
//! Measured on an H200 (driver 580, 2026-11-21) at 4096³: 28.8 TFLOP/s where `tiled` has 8.1; 28.2 with a test behind each element of
//! the inner dimension. With loads that each wait for the one before it
//! was 8.8: a step then waits for global memory eight times.

use cuda_std::prelude::*;

use super::TILE;
use super::tiled::element_or_zero;
use crate::number::Real;
use crate::unroll::{in_groups, unrolled};

/// Rows, and columns, of C that a thread owns.
pub const OWNED: u32 = 8;
/// Rows, and columns, of C that a block computes.
pub const SIDE: u32 = TILE * OWNED;
/// Elements of the inner dimension in a step.
pub const DEPTH: u32 = 8;

const EACH: usize = OWNED as usize;
/// Elements of the inner dimension between two tests for a step's end.
const UNROLLED: usize = 4;
/// Words from one row of a tile to the next.
const STRIDE: usize = SIDE as usize + 1;
const AREA: usize = DEPTH as usize * STRIDE;
/// Elements of each tile that a thread loads in a step: all of them before it stores the first, so that it waits once.
const LOADS: usize = (SIDE * DEPTH / (TILE * TILE)) as usize;
/// Rows of the tiles, as they lie in global memory, that a block loads at once.
const ROWS_A: usize = (TILE * TILE / DEPTH) as usize;
const ROWS_B: usize = (TILE * TILE / SIDE) as usize;

/// C = A·B.
///
/// # Parameters
/// - `a`: A, `rows · inner` elements. `b`: B, `inner · cols` elements. `c`: C, `rows · cols` elements.
///
/// # Launch
/// Blocks of [`TILE`] × [`TILE`], each for [`SIDE`] × [`SIDE`] elements; x runs over columns, y over rows. The
/// grid strides over both.
///
/// # Safety
/// The crate's rules; the matrices have those sizes; the block is as stated.
#[kernel(
    instances(f32, f64),
    require(
        rows.checked_mul(inner) == Some(a.len()),
        inner.checked_mul(cols) == Some(b.len()),
        rows.checked_mul(cols) == Some(c.len()),
        [block.x, block.y, block.z, grid.z] == [TILE, TILE, 1, 1]
    )
)]
pub unsafe fn matmul_register_tile<T: Real>(
    a: &[T],
    b: &[T],
    c: *mut T,
    rows: usize,
    inner: usize,
    cols: usize,
) {
    let (tile_a, tile_b) = (shared_array![T; AREA], shared_array![T; AREA]);
    let (tile, side, depth) = (TILE as usize, SIDE as usize, DEPTH as usize);
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let t = y * tile + x;
    // Threads of a block to each row of the two tiles as they lie in global memory.
    let (row_a, col_a) = (t / depth, t % depth);
    let (row_b, col_b) = (t / side, t % side);
    let mut top = thread::block_idx_y() as usize * side;
    while top < rows {
        let mut left = thread::block_idx_x() as usize * side;
        while left < cols {
            let mut sums = [[T::ZERO; EACH]; EACH];
            let mut step = 0;
            while step < inner {
                let (mut from_a, mut from_b) = ([T::ZERO; LOADS], [T::ZERO; LOADS]);
                unrolled::<LOADS>(|i| {
                    let (row, k) = (top + row_a + i * ROWS_A, step + row_b + i * ROWS_B);
                    // SAFETY: an element is read only inside its matrix.
                    unsafe {
                        from_a[i] = element_or_zero(a, row, rows, step + col_a, inner);
                        from_b[i] = element_or_zero(b, k, inner, left + col_b, cols);
                    }
                });
                unrolled::<LOADS>(|i| {
                    let slot_a = col_a * STRIDE + row_a + i * ROWS_A;
                    let slot_b = (row_b + i * ROWS_B) * STRIDE + col_b;
                    // SAFETY: the slots lie in their tiles, and each is written by one thread.
                    unsafe {
                        tile_a.add(slot_a).write(from_a[i]);
                        tile_b.add(slot_b).write(from_b[i]);
                    }
                });
                // Every thread's loads come before any thread's reads of both tiles.
                thread::sync_threads();
                in_groups::<UNROLLED>(0..depth, |k| {
                    let (mut of_a, mut of_b) = ([T::ZERO; EACH], [T::ZERO; EACH]);
                    // SAFETY: the slots lie in their tiles and have been written.
                    unrolled::<EACH>(|i| unsafe {
                        of_a[i] = tile_a.add(k * STRIDE + y + tile * i).read();
                        of_b[i] = tile_b.add(k * STRIDE + x + tile * i).read();
                    });
                    unrolled::<EACH>(|i| {
                        unrolled::<EACH>(|j| sums[i][j] = of_a[i].mul_add(of_b[j], sums[i][j]));
                    });
                });
                // Every thread's reads come before any thread's next loads.
                thread::sync_threads();
                step += depth;
            }
            unrolled::<EACH>(|i| {
                unrolled::<EACH>(|j| {
                    let (row, col) = (top + y + tile * i, left + x + tile * j);
                    if row < rows && col < cols {
                        // SAFETY: inside C, and only this thread has this row and column.
                        unsafe { c.add(row * cols + col).write(sums[i][j]) };
                    }
                });
            });
            left += thread::grid_dim_x() as usize * side;
        }
        top += thread::grid_dim_y() as usize * side;
    }
}
