//! Profiling: bank conflicts of a transpose, counted.
//!
//! Shared memory has 32 banks, and successive words lie in successive banks. A warp's access takes
//! one pass if its words lie in different banks, and one more pass for each further word of the
//! busiest bank. A transpose writes rows of its tile and reads columns. In a tile of 32 slots a
//! row, the words of a column lie in one bank: 32 passes. With one unused slot at the end of each
//! row they lie in 32 banks: 1 pass.
//!
//! - [`Watch::Profile`](blockwise::Watch) makes the emulator count what NVIDIA's profiler counts on
//!   a GPU, without one.
//! - The two kernels are one: a generic function of the slots in a row, with two instances. `cargo
//!   run -p blockwise_cli -- profile` gives the same figures, and more, for any kernel.

use cuda_std::prelude::*;

/// Side of a tile, and of a block.
pub const TILE: usize = 32;

/// Bᵀ for the row-major `a` of rows × cols elements, through a tile with `PITCH` slots in a row.
///
/// # Safety
/// Nobody else writes `b`. The rest is checked.
#[kernel(
    instances(32, 33),
    name = "transpose_pitch_{PITCH}",
    require(
        a.len() == rows * cols && b.len() == a.len(),
        block.x as usize == TILE && block.y as usize == TILE,
        grid.x as usize * TILE >= cols && grid.y as usize * TILE >= rows,
        [grid.z, block.z] == [1; 2]
    )
)]
pub unsafe fn transpose<const PITCH: usize>(a: &[f32], b: *mut f32, rows: usize, cols: usize) {
    let tile = shared_array![f32; TILE * PITCH];
    let (x, y) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let left = thread::block_idx_x() as usize * TILE;
    let top = thread::block_idx_y() as usize * TILE;
    if top + y < rows && left + x < cols {
        // SAFETY: a slot for each thread.
        unsafe {
            tile.add(y * PITCH + x)
                .write(a[(top + y) * cols + left + x])
        };
    }
    // Every thread's write of its slot comes before the read of that slot by the thread at (y, x).
    thread::sync_threads();
    if left + y < cols && top + x < rows {
        // SAFETY: inside b, and only this thread has this element; the slot was written before the
        // barrier.
        unsafe {
            b.add((left + y) * rows + top + x)
                .write(*tile.add(x * PITCH + y))
        };
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Device, EmulatorLimits, Instance, Result, Watch};

    use super::{TILE, transpose};

    /// The transposed `a`, through a tile with `PITCH` slots in a row: 32 or 33.
    pub fn transpose_on<const PITCH: usize>(
        device: &Device,
        a: &[f32],
        [rows, cols]: [usize; 2],
    ) -> Result<Vec<f32>>
    where
        transpose<PITCH>: Instance,
    {
        let (a, mut b) = (device.upload(a)?, device.alloc::<f32>(a.len())?);
        let blocks = |len: usize| len.div_ceil(TILE).max(1) as u32;
        let kernel = transpose::<PITCH>::on(device)?
            .grid((blocks(cols), blocks(rows)))
            .block((TILE as u32, TILE as u32));
        // SAFETY: `b` is borrowed mutably.
        unsafe { kernel.launch(&a, &mut b, rows, cols)? };
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
        // As many loads, of 32 passes, as stores, of 1.
        assert_eq!(passes::<32>()?, 16.5);
        assert_eq!(passes::<33>()?, 1.0);
        Ok(())
    }
}
