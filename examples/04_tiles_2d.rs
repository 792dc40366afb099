//! Tiles in two dimensions: a matrix product.
//!
//! With one thread for each element of C = A·B, every thread reads a row of A and a column of B.
//! Here a block owns a TILE × TILE tile of C and walks along the inner dimension in steps of TILE.
//! In each step it loads one tile of A and one of B; every loaded element is used TILE times.
//!
//! - Thread (x, y) owns C\[row, col\] with row = block y · TILE + y, col = block x · TILE + x. In a
//!   step from k it loads A\[row, k + x\] and B\[k + y, col\] into slot (y, x) of the tiles, zero
//!   outside the matrices. Neighbouring x are neighbouring addresses: coalesced.
//! - Two barriers a step: one before the tiles are read, one before the next step overwrites them.
//! - Global reads for each element of C: 2·inner/TILE instead of 2·inner.

use cuda_std::prelude::*;

/// Side of a tile, and of a block.
pub const TILE: usize = 16;

/// C = A·B, for row-major matrices of rows × inner, inner × cols and rows × cols elements.
///
/// # Safety
/// Nobody else writes `c`. The rest is checked.
#[kernel(require(
    a.len() == rows * inner,
    b.len() == inner * cols,
    c.len() == rows * cols,
    block.x as usize == TILE && block.y as usize == TILE,
    grid.x as usize * TILE >= cols && grid.y as usize * TILE >= rows,
    [grid.z, block.z] == [1; 2]
))]
pub unsafe fn multiply(a: &[f32], b: &[f32], c: *mut f32, rows: usize, inner: usize, cols: usize) {
    let (tile_a, tile_b) = (
        shared_array![f32; TILE * TILE],
        shared_array![f32; TILE * TILE],
    );
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let row = thread::block_idx_y() as usize * TILE + y;
    let col = thread::block_idx_x() as usize * TILE + x;

    let mut sum = 0.0_f32;
    for k in (0..inner).step_by(TILE) {
        let element_a = if row < rows && k + x < inner {
            a[row * inner + k + x]
        } else {
            0.0
        };
        let element_b = if k + y < inner && col < cols {
            b[(k + y) * cols + col]
        } else {
            0.0
        };
        // SAFETY: each thread writes its own slot of each tile.
        unsafe {
            tile_a.add(y * TILE + x).write(element_a);
            tile_b.add(y * TILE + x).write(element_b);
        }
        // Every thread's loads come before any thread's reads of both tiles.
        thread::sync_threads();
        for i in 0..TILE {
            // SAFETY: slots of the tiles, written before the barrier.
            let (a, b) = unsafe { (*tile_a.add(y * TILE + i), *tile_b.add(i * TILE + x)) };
            sum = a.mul_add(b, sum);
        }
        // Every thread's reads come before any thread's loads of the next step.
        thread::sync_threads();
    }
    if row < rows && col < cols {
        // SAFETY: inside C, and only this thread has this row and column.
        unsafe { c.add(row * cols + col).write(sum) };
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Device, Result};

    use super::{TILE, multiply};
    use crate::near::is_near;

    /// A·B for A of `rows` × `inner` and B of `inner` × `cols` elements.
    pub fn multiply_on(
        device: &Device,
        (a, b): (&[f32], &[f32]),
        [rows, inner, cols]: [usize; 3],
    ) -> Result<Vec<f32>> {
        let (a, b) = (device.upload(a)?, device.upload(b)?);
        let mut c = device.alloc::<f32>(rows * cols)?;
        let blocks = |len: usize| len.div_ceil(TILE).max(1) as u32;
        let kernel = multiply::on(device)?
            .grid((blocks(cols), blocks(rows)))
            .block((TILE as u32, TILE as u32));
        // SAFETY: `c` is borrowed mutably.
        unsafe { kernel.launch(&a, &b, &mut c, rows, inner, cols)? };
        c.to_vec()
    }

    /// Multiplies two matrices of these sizes and compares with sums in `f64`.
    pub(super) fn check(device: &Device, [rows, inner, cols]: [usize; 3]) -> Result<()> {
        let a: Vec<f32> = (0..rows * inner).map(|i| (0.37 * i as f32).sin()).collect();
        let b: Vec<f32> = (0..inner * cols).map(|i| (0.11 * i as f32).cos()).collect();
        let c = multiply_on(device, (&a, &b), [rows, inner, cols])?;
        assert_eq!(c.len(), rows * cols);
        for (i, got) in c.iter().enumerate() {
            let (row, col) = (i / cols, i % cols);
            let terms =
                (0..inner).map(|k| f64::from(a[row * inner + k]) * f64::from(b[k * cols + col]));
            let magnitude = terms.clone().map(f64::abs).sum();
            assert!(
                is_near(*got, terms.sum(), magnitude, inner),
                "C[{row}, {col}] = {got}"
            );
        }
        Ok(())
    }

    /// Runs the example.
    pub fn run(device: &Device) -> Result<()> {
        check(device, [100, 70, 90])?;
        println!("a 100 × 70 by 70 × 90 product, in tiles of {TILE} × {TILE}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use blockwise::Result;

    use super::{TILE, check};
    use crate::test_devices::on_every_device;

    #[test]
    fn products_are_right_at_every_edge() -> Result<()> {
        on_every_device(|device| {
            for size in [
                [0, 0, 0],
                [3, 0, 2],
                [1, 1, 1],
                [TILE - 1, TILE, TILE + 1],
                [TILE, TILE + 1, TILE - 1],
                [TILE, TILE, TILE],
                [37, 53, 41],
            ] {
                check(device, size)?;
            }
            Ok(())
        })
    }
}
