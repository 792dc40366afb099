//! Mistake: the product is added to the old contents of the output.
//!
//! A kernel for C += A·B is launched as if it computed C = A·B, with new memory for C.
//!
//! - On a GPU: correct while new memory happens to be zero, wrong once it has been reused.
//! - On the emulator: a use of uninitialised global memory, with the line.
//!
//! The sound twin is `matmul_naive_f32`.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

use crate::TILE;

/// C += A·B of row-major matrices; blocks of TILE × TILE that cover C, x over columns.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn matmul_accumulates(
    a: &[f32],
    b: &[f32],
    c: *mut f32,
    rows: usize,
    inner: usize,
    cols: usize,
) {
    let row = (thread::block_idx_y() * TILE + thread::thread_idx_y()) as usize;
    let col = (thread::block_idx_x() * TILE + thread::thread_idx_x()) as usize;
    if row < rows && col < cols {
        // SAFETY: inside the matrices.
        unsafe {
            let element = c.add(row * cols + col);
            // The mistake: the sum starts from C.
            let mut sum = element.read();
            for k in 0..inner {
                let (a, b) = (
                    *a.get_unchecked(row * inner + k),
                    *b.get_unchecked(k * cols + col),
                );
                sum = GpuFloat::mul_add(a, b, sum);
            }
            element.write(sum);
        }
    }
}
