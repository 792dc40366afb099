//! Matrix product with tiles of A and B in shared memory.
//!
//! Change from [`naive`](super::naive): a block computes a TILE × TILE tile of C. It walks along the inner dimension in steps of
//! TILE; at each step it loads one tile of A and one of B, and each loaded element is used TILE times.
//!
//! - Loads: thread (x, y) loads A\[row, k₀ + x\] into slot (y, x) of `tile_a` and B\[k₀ + y, col\] into slot (y, x) of `tile_b`; zero outside the
//!   matrices, so that edges need no case in the inner loop. Both loads are coalesced.
//! - Thread (x, y) owns C\[row, col\] and sums in the order of k: the same values as the naive kernel's (a zero pad adds nothing).
//! - Reads per element of C: 2·inner/TILE from global memory, 2·inner from shared memory. In a warp (two rows of 16) `tile_a` is read at
//!   two addresses, broadcast to 16 lanes each; `tile_b` at 16 neighbouring ones: no bank conflict in f32.
//! - Two barriers for each step.
//! - A thread outside C does not return: it loads zeros and takes part in both barriers.

use cuda_std::prelude::*;

use super::TILE;
use crate::number::Real;

/// Elements of a tile.
const AREA: usize = (TILE * TILE) as usize;

/// C = A·B.
///
/// # Parameters
/// - `a`: A, `rows · inner` elements. `b`: B, `inner · cols` elements. `c`: C, `rows · cols` elements.
///
/// # Launch
/// Blocks of [`TILE`] × [`TILE`]; x runs over columns, y over rows. The grid strides over both.
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
pub unsafe fn matmul_tiled<T: Real>(
    a: &[T],
    b: &[T],
    c: *mut T,
    rows: usize,
    inner: usize,
    cols: usize,
) {
    let (tile_a, tile_b) = (shared_array![T; AREA], shared_array![T; AREA]);
    let tile = TILE as usize;
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let slot = y * tile + x;
    let mut top = thread::block_idx_y() as usize * tile;
    while top < rows {
        let mut left = thread::block_idx_x() as usize * tile;
        while left < cols {
            let (row, col) = (top + y, left + x);
            let mut sum = T::ZERO;
            let mut step = 0;
            while step < inner {
                // SAFETY: each thread writes its own slot of each tile; elements are read only inside the matrices.
                unsafe {
                    tile_a
                        .add(slot)
                        .write(element_or_zero(a, row, rows, step + x, inner));
                    tile_b
                        .add(slot)
                        .write(element_or_zero(b, step + y, inner, col, cols));
                }
                // Every thread's loads come before any thread's reads of both tiles.
                thread::sync_threads();
                for k in 0..tile {
                    // SAFETY: both slots lie in their tiles and have been written.
                    let (a, b) = unsafe {
                        (
                            tile_a.add(y * tile + k).read(),
                            tile_b.add(k * tile + x).read(),
                        )
                    };
                    sum = a.mul_add(b, sum);
                }
                // Every thread's reads come before any thread's next loads.
                thread::sync_threads();
                step += tile;
            }
            if row < rows && col < cols {
                // SAFETY: inside C, and only this thread has this row and column.
                unsafe { c.add(row * cols + col).write(sum) };
            }
            left += thread::grid_dim_x() as usize * tile;
        }
        top += thread::grid_dim_y() as usize * tile;
    }
}

/// Element (row, col) of a row-major rows × cols matrix, or zero outside it.
///
/// # Safety
/// `matrix` has `rows · cols` elements.
#[inline(always)]
pub(super) unsafe fn element_or_zero<T: Real>(
    matrix: &[T],
    row: usize,
    rows: usize,
    col: usize,
    cols: usize,
) -> T {
    if row < rows && col < cols {
        // SAFETY: just compared.
        unsafe { *matrix.get_unchecked(row * cols + col) }
    } else {
        T::ZERO
    }
}
