//! Mistake: the barrier after the inner loop is missing.
//!
//! The barrier after the loads exists, so each step starts correctly. But a warp that finishes its
//! sums early continues with the next step and overwrites tiles that a slower warp still reads.
//!
//! - On a GPU: some elements of C are wrong, different ones in each run; with a single step (inner
//!   ≤ TILE) none is.
//! - On the emulator: the race, with the lines of the read and the write.
//!
//! The sound twin is `matmul_tiled_f32`: two barriers per step, the second for this reason.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

use crate::TILE;

/// C = A·B of row-major matrices, with races; blocks of TILE × TILE that cover C, x over columns.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn matmul_missing_barrier(
    a: &[f32],
    b: &[f32],
    c: *mut f32,
    rows: usize,
    inner: usize,
    cols: usize,
) {
    let tile = TILE as usize;
    let tile_a = shared_array![f32; (TILE * TILE) as usize];
    let tile_b = shared_array![f32; (TILE * TILE) as usize];
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let row = thread::block_idx_y() as usize * tile + y;
    let col = thread::block_idx_x() as usize * tile + x;

    let mut sum = 0.0;
    let mut step = 0;
    while step < inner {
        // SAFETY: elements are read only inside the matrices, and slots are inside their tiles.
        // Nothing preserves the tiles until all threads have read them.
        unsafe {
            let inside_a = row < rows && step + x < inner;
            let inside_b = step + y < inner && col < cols;
            let from_a = if inside_a {
                *a.get_unchecked(row * inner + step + x)
            } else {
                0.0
            };
            let from_b = if inside_b {
                *b.get_unchecked((step + y) * cols + col)
            } else {
                0.0
            };
            tile_a.add(y * tile + x).write(from_a);
            tile_b.add(y * tile + x).write(from_b);
            thread::sync_threads();
            for k in 0..tile {
                let (a, b) = (
                    tile_a.add(y * tile + k).read(),
                    tile_b.add(k * tile + x).read(),
                );
                sum = GpuFloat::mul_add(a, b, sum);
            }
        }
        // The mistake: no barrier here.
        step += tile;
    }
    if row < rows && col < cols {
        // SAFETY: inside C.
        unsafe { c.add(row * cols + col).write(sum) };
    }
}
