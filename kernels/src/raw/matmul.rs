//! Matrix product with tiles of A and B in shared memory.

use cuda_std::prelude::*;

use crate::matmul::TILE;
use crate::number::Real;

const SIDE: usize = TILE as usize;
/// Elements of a tile.
const AREA: usize = SIDE * SIDE;

/// C = A·B.
///
/// A block computes a tile of C, in steps of TILE along the inner dimension. Thread (x, y) loads
/// A\[row, step + x\] and B\[step + y, col\] into slots (y, x), or zero outside the matrices, and
/// owns C\[row, col\]. A thread outside C arrives at both barriers of every step.
///
/// # Parameters
/// - `a`: A, `rows · inner` elements. `b`: B, `inner · cols` elements. `c`: C, `rows · cols`
///   elements.
///
/// # Launch
/// Blocks of [`TILE`] × [`TILE`]; x runs over columns, y over rows. The grid strides over both.
///
/// # Safety
/// The crate's rules; the matrices have those sizes; the block is as stated.
#[kernel(
    instances(f32),
    require(
        rows.checked_mul(inner) == Some(a.len()),
        inner.checked_mul(cols) == Some(b.len()),
        rows.checked_mul(cols) == Some(c.len()),
        [block.x, block.y, block.z, grid.z] == [TILE, TILE, 1, 1]
    )
)]
pub unsafe fn matmul_tiled_raw<T: Real>(
    a: &[T],
    b: &[T],
    c: *mut T,
    rows: usize,
    inner: usize,
    cols: usize,
) {
    let (tile_a, tile_b) = (shared_array![T; AREA], shared_array![T; AREA]);
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let slot = y * SIDE + x;
    let mut top = thread::block_idx_y() as usize * SIDE;
    while top < rows {
        let mut left = thread::block_idx_x() as usize * SIDE;
        while left < cols {
            let (row, col) = (top + y, left + x);
            let mut sum = T::ZERO;
            let mut step = 0;
            while step < inner {
                // SAFETY: each thread writes its own slot of each tile; elements are read only
                // inside the matrices.
                unsafe {
                    tile_a
                        .add(slot)
                        .write(element_or_zero(a, row, rows, step + x, inner));
                    tile_b
                        .add(slot)
                        .write(element_or_zero(b, step + y, inner, col, cols));
                }
                // Orders every thread's loads before any thread's reads of both tiles.
                thread::sync_threads();
                for k in 0..SIDE {
                    // SAFETY: both slots are inside their tiles and have been written.
                    let (a, b) = unsafe {
                        (
                            tile_a.add(y * SIDE + k).read(),
                            tile_b.add(k * SIDE + x).read(),
                        )
                    };
                    sum = a.mul_add(b, sum);
                }
                // Orders every thread's reads before any thread's next loads.
                thread::sync_threads();
                step += SIDE;
            }
            if row < rows && col < cols {
                // SAFETY: inside C; only this thread has this row and column.
                unsafe { c.add(row * cols + col).write(sum) };
            }
            left += thread::grid_dim_x() as usize * SIDE;
        }
        top += thread::grid_dim_y() as usize * SIDE;
    }
}

/// Element (row, col) of a row-major rows × cols matrix, or zero outside it.
///
/// # Safety
/// `matrix` has `rows · cols` elements.
#[inline(always)]
unsafe fn element_or_zero<T: Real>(
    matrix: &[T],
    row: usize,
    rows: usize,
    col: usize,
    cols: usize,
) -> T {
    if row < rows && col < cols {
        // SAFETY: compared above.
        unsafe { *matrix.get_unchecked(row * cols + col) }
    } else {
        T::ZERO
    }
}
