//! Mistake: the kernel relies on a grid that covers C, and the launch rounds down.
//!
//! Each thread computes one element, without a grid-stride loop. That is sound with ⌈cols / TILE⌉ ×
//! ⌈rows / TILE⌉ blocks; with `cols / TILE` × `rows / TILE`, the last rows and columns belong to no
//! thread.
//!
//! - On a GPU: no error. C keeps its memory's old contents at the right and lower edge, often zeros
//!   or the correct results of an earlier run.
//! - On the emulator: no error either, because no access is wrong. A note names the elements that no
//!   thread wrote, and the line that writes the others.
//!
//! The sound twin is `matmul_naive_f32`, which strides by the grid: any grid covers C.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

use crate::TILE;

/// C = A·B of row-major matrices as far as the grid reaches; blocks of TILE × TILE, x over columns.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn matmul_uncovered_grid(
    a: &[f32],
    b: &[f32],
    c: *mut f32,
    rows: usize,
    inner: usize,
    cols: usize,
) {
    let row = thread::block_idx_y() as usize * TILE as usize + thread::thread_idx_y() as usize;
    let col = thread::block_idx_x() as usize * TILE as usize + thread::thread_idx_x() as usize;
    // The mistake: no grid-stride loop, here and below.
    if row < rows && col < cols {
        let mut sum = 0.0;
        for k in 0..inner {
            // SAFETY: inside A and B.
            let (a, b) = unsafe {
                (
                    *a.get_unchecked(row * inner + k),
                    *b.get_unchecked(k * cols + col),
                )
            };
            sum = GpuFloat::mul_add(a, b, sum);
        }
        // SAFETY: inside C.
        unsafe { c.add(row * cols + col).write(sum) };
    }
}
