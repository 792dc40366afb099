//! Tiles in two dimensions: a matrix product.
//!
//! With one thread for each element of C = A·B, every thread reads a row of A and a column of B.
//! Here a block owns TILE × TILE tiles of C. For each it walks along the inner dimension in steps
//! of TILE and loads one tile of A and one of B; every loaded element is used TILE times.
//!
//! - Thread (x, y) owns C\[top + y, left + x\] of the tile at `top` and `left`. In a step from k it
//!   loads A\[top + y, k + x\] and B\[k + y, left + x\] into slot (y, x) of the tiles, zero outside
//!   the matrices. Neighbouring x are neighbouring addresses: coalesced.
//! - Two barriers per step: the first orders the loads of both tiles before their reads, the second
//!   these reads before the loads of the next step. Each advances the state of both tiles.
//! - Global reads per element of C: 2·inner/TILE instead of 2·inner.
//!
//! A [`Matrix`] is a buffer with its rows and columns, which the launch compares with the buffer's
//! length. An [`OutMatrix`] has an owner for each element, like [`Out`].

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// Side of a tile, and of a block.
pub const TILE: usize = 16;

// ANCHOR: kernel
/// C = A·B, for row-major matrices. Any grid of two dimensions.
#[kernel(require(a.cols() == b.rows(), c.rows() == a.rows(), c.cols() == b.cols()))]
pub fn multiply(
    block: &mut Block<TILE, TILE>,
    mut tile_a: Shared<Tile<f32, TILE, TILE>>,
    mut tile_b: Shared<Tile<f32, TILE, TILE>>,
    a: Matrix<f32>,
    b: Matrix<f32>,
    mut c: OutMatrix<f32, TILE, TILE>,
) {
    let (x, y) = block.thread_xy();
    for top in block.tiles_y::<TILE>(c.rows()) {
        for left in block.tiles_x::<TILE>(c.cols()) {
            let mut sum = 0.0_f32;
            for k in (0..a.cols()).step_by(TILE) {
                let written = (
                    tile_a.write(block, |(row, i)| a.or_default(top.start() + row, k + i)),
                    tile_b.write(block, |(i, col)| b.or_default(k + i, left.start() + col)),
                );
                // Orders every thread's loads before any thread's reads of both tiles.
                let (a, b) = block.sync_threads(written);
                for i in 0..TILE {
                    sum = a[y][i].mul_add(b[i][x], sum);
                }
                // Orders every thread's reads before any thread's loads of the next step.
                (tile_a, tile_b) = block.sync_threads((a, b));
            }
            c.store(block, top, left, |_| sum);
        }
    }
}
// ANCHOR_END: kernel

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
        let mut c = device.zeros::<f32>(rows * cols)?;
        let blocks = |len: usize| len.div_ceil(TILE).max(1) as u32;
        multiply::on(device)?
            .grid((blocks(cols), blocks(rows)))
            .launch((&a, rows, inner), (&b, inner, cols), (&mut c, rows, cols))?;
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
    use blockwise::{Device, Result};

    use super::{TILE, check, multiply};
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

    #[test]
    fn a_small_grid_strides_over_all_tiles() -> Result<()> {
        on_every_device(|device| {
            // A column times a row: each element is one product.
            let column: Vec<f32> = (0..40).map(|row| row as f32).collect();
            let row: Vec<f32> = (0..50).map(|col| 1.0 - col as f32).collect();
            let (a, b) = (device.upload(&column)?, device.upload(&row)?);
            let mut c = device.zeros(40 * 50)?;
            multiply::on(device)?.grid((2, 1)).launch(
                (&a, 40, 1),
                (&b, 1, 50),
                (&mut c, 40, 50),
            )?;
            let reference: Vec<_> = (0..40 * 50).map(|i| column[i / 50] * row[i % 50]).collect();
            assert_eq!(c.to_vec()?, reference);
            Ok(())
        })
    }

    #[test]
    fn matrices_that_do_not_fit_are_refused() -> Result<()> {
        let device = Device::checked();
        let (a, mut c) = (device.upload(&[1.0; 6])?, device.zeros(9)?);
        let kernel = multiply::on(&device)?.grid(1);
        let error = kernel
            .launch((&a, 3, 2), (&a, 3, 2), (&mut c, 3, 3))
            .unwrap_err();
        assert!(
            error.to_string().contains("a.cols() == b.rows()"),
            "{error}"
        );
        let error = kernel
            .launch((&a, 3, 2), (&a, 2, 3), (&mut c, 3, 4))
            .unwrap_err();
        assert!(
            error.to_string().contains("c.len() == c.rows() * c.cols()"),
            "{error}"
        );
        Ok(())
    }
}
