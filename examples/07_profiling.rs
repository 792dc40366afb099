//! Profiling: bank conflicts of a transpose, counted.
//!
//! Shared memory has 32 banks, and consecutive words are in consecutive banks. A warp's access
//! takes one pass if its words are in different banks; in general it takes as many passes as there
//! are different words in the busiest bank. A transpose writes rows of its tile and reads columns.
//! With 32 slots per row, the words of a column are in one bank: 32 passes. With one unused slot at
//! the end of each row they are in 32 banks: 1 pass.
//!
//! - [`Watch::Profile`](blockwise::Watch) makes the emulator count what NVIDIA's profiler counts on
//!   a GPU, without a GPU.
//! - The two kernels are one: a generic function of the slots per row, with two instances. `cargo
//!   run -p blockwise_cli --features tools -- profile` prints the same figures, and more, for any kernel.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// Side of a tile, and of a block.
pub const TILE: usize = 32;

/// b = a, where `a` is row-major and `b` column-major, through a tile with `PITCH` slots per row.
///
/// Thread (x, y) writes slot (y, x), and stores slot (x, y): neighbouring x are neighbours in both
/// matrices.
#[kernel(
    instances(32, 33),
    name = "transpose_pitch_{PITCH}",
    require(a.rows() == b.rows(), a.cols() == b.cols())
)]
pub fn transpose<const PITCH: usize>(
    block: &mut Block<TILE, TILE>,
    tile: Shared<Tile<f32, TILE, TILE, PITCH>>,
    a: Matrix<f32>,
    mut b: OutMatrix<f32, TILE, TILE, ColMajor>,
) {
    // For arrays that are filled repeatedly: `fill` contains the barriers before and after.
    let mut tile = tile.refill();
    for top in block.tiles_y::<TILE>(a.rows()) {
        for left in block.tiles_x::<TILE>(a.cols()) {
            let loaded = tile.fill(block, |(row, col)| {
                a.or_default(top.start() + row, left.start() + col)
            });
            b.store(block, top, left, |own| loaded[own.row][own.col]);
        }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Device, EmulatorLimits, Instance, Result, Watch};

    use super::{TILE, transpose};

    /// The transposed `a`, through a tile with `PITCH` slots per row: 32 or 33.
    pub fn transpose_on<const PITCH: usize>(
        device: &Device,
        a: &[f32],
        [rows, cols]: [usize; 2],
    ) -> Result<Vec<f32>>
    where
        transpose<PITCH>: Instance,
    {
        let (a, mut b) = (device.upload(a)?, device.zeros::<f32>(a.len())?);
        let blocks = |len: usize| len.div_ceil(TILE).max(1) as u32;
        transpose::<PITCH>::on(device)?
            .grid((blocks(cols), blocks(rows)))
            .launch((&a, rows, cols), (&mut b, rows, cols))?;
        b.to_vec()
    }

    /// The same on the host.
    pub(super) fn reference(a: &[f32], [rows, cols]: [usize; 2]) -> Vec<f32> {
        (0..a.len())
            .map(|i| a[i % rows * cols + i / rows])
            .collect()
    }

    /// Passes through shared memory for each access of a warp, on average: 1 without bank
    /// conflicts.
    pub fn passes<const PITCH: usize>() -> Result<f64>
    where
        transpose<PITCH>: Instance,
    {
        let device = Device::emulator_with(EmulatorLimits::default(), Watch::Profile);
        transpose_on::<PITCH>(&device, &[1.0; 64 * 64], [64, 64])?;
        let profile = &device.take_profiles()[0];
        Ok(profile.total().shared().wavefronts_per_request().unwrap())
    }

    /// Runs the example.
    pub fn run(device: &Device) -> Result<()> {
        let size = [100, 70];
        let a: Vec<f32> = (0..7_000).map(|i| i as f32).collect();
        assert_eq!(transpose_on::<32>(device, &a, size)?, reference(&a, size));
        assert_eq!(transpose_on::<33>(device, &a, size)?, reference(&a, size));
        println!("a 100 × 70 matrix transposed, through tiles of two pitches");
        println!(
            "pitch 32: {} passes an access (stores 1, loads 32)",
            passes::<32>()?
        );
        println!("pitch 33: {} passes an access", passes::<33>()?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use blockwise::Result;

    use super::{TILE, passes, reference, transpose_on};
    use crate::test_devices::on_every_device;

    #[test]
    fn both_transpose_at_every_edge() -> Result<()> {
        on_every_device(|device| {
            for size in [
                [0, 0],
                [1, 1],
                [TILE - 1, TILE + 1],
                [TILE, TILE],
                [37, 71],
                [3, 100],
            ] {
                let a: Vec<f32> = (0..size[0] * size[1]).map(|i| i as f32).collect();
                assert_eq!(transpose_on::<32>(device, &a, size)?, reference(&a, size));
                assert_eq!(transpose_on::<33>(device, &a, size)?, reference(&a, size));
            }
            Ok(())
        })
    }

    #[test]
    fn padding_removes_every_conflict() -> Result<()> {
        // One load of 32 passes for every store of 1 pass.
        assert_eq!(passes::<32>()?, 16.5);
        assert_eq!(passes::<33>()?, 1.0);
        Ok(())
    }
}
