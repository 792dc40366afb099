//! Matrix product without shared memory: the version to compare with.
//!
//! C\[row, col\] = Σₖ A\[row, k\] · B\[k, col\], one thread for each element of C, summed in the order of k.
//!
//! In a warp, lanes with neighbouring columns read neighbouring elements of B (coalesced) and the same element of A. Each element of
//! A is read by `cols` threads and each of B by `rows`: 2·inner global reads per element of C.
//!
//! | H200, ms | 2048³ | 4096³ | 4093 × 4099 × 4111 |
//! | --- | --- | --- | --- |
//! | element by element | 3.91 | 55.3 | 55.8 |
//! | **in groups of 16** | 3.23 | 34.2 | 34.1 |
//! | the same in CUDA C++ | 3.47 | 46.1 | 46.7 |

use cuda_std::prelude::*;

use super::TILE;
use crate::number::Real;
use crate::unroll::in_groups;

/// Elements of the inner dimension whose loads are under way together.
const GROUP: usize = 16;

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
pub unsafe fn matmul_naive<T: Real>(
    a: &[T],
    b: &[T],
    c: *mut T,
    rows: usize,
    inner: usize,
    cols: usize,
) {
    let tile = TILE as usize;
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let mut row = thread::block_idx_y() as usize * tile + y;
    while row < rows {
        let mut col = thread::block_idx_x() as usize * tile + x;
        while col < cols {
            let mut sum = T::ZERO;
            in_groups::<GROUP>(0..inner, |k| {
                // SAFETY: row < rows, k < inner, col < cols.
                let (a, b) = unsafe {
                    (
                        *a.get_unchecked(row * inner + k),
                        *b.get_unchecked(k * cols + col),
                    )
                };
                sum = a.mul_add(b, sum);
            });
            // SAFETY: likewise, and only this thread has this row and column.
            unsafe { c.add(row * cols + col).write(sum) };
            col += thread::grid_dim_x() as usize * tile;
        }
        row += thread::grid_dim_y() as usize * tile;
    }
}
