//! Warps: a dot product without shared memory.
//!
//! The threads of a block run in warps of 32 lanes. The lanes of a warp can read each other's
//! registers: a shuffle. So a warp sums its 32 values in 5 shuffles, with no shared memory and no
//! barrier; compare with the tree of `03_reduction`.
//!
//! - In the round of `delta` = 16, 8, 4, 2, 1 lane l adds the value of lane l + delta. Lane 0 ends
//!   up with the sum of all.
//! - The mask of a shuffle names the lanes that take part, and the shuffle waits for them: lanes
//!   may leave the loop before it one by one. Here it is every lane, so a block must be a whole
//!   number of warps.
//! - One partial sum for each warp; the host adds them.

use cuda_std::prelude::*;

/// Lanes of a warp.
pub const LANES: usize = 32;

/// partials\[warp\] = Σ x\[i\]·y\[i\] over what the warp's lanes have read. Any grid.
///
/// # Safety
/// Nobody else writes `partials`. The rest is checked.
#[kernel(require(
    x.len() == y.len(),
    partials.len() * LANES == grid.x as usize * block.x as usize,
    block.x.is_multiple_of(LANES as u32),
    [grid.y, grid.z, block.y, block.z] == [1; 4]
))]
pub unsafe fn dot(x: &[f32], y: &[f32], partials: *mut f32) {
    let block = thread::block_dim_x() as usize;
    let index = thread::block_idx_x() as usize * block + thread::thread_idx_x() as usize;

    let mut sum = 0.0_f32;
    for i in (index..x.len()).step_by(thread::grid_dim_x() as usize * block) {
        sum = x[i].mul_add(y[i], sum);
    }
    for delta in [16, 8, 4, 2, 1] {
        // SAFETY: every lane of the warp is here.
        let (value, _) = unsafe { warp::warp_shuffle_down(u32::MAX, sum, delta, 32) };
        sum += value;
    }
    if index.is_multiple_of(LANES) {
        // SAFETY: one element for each warp.
        unsafe { partials.add(index / LANES).write(sum) };
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Device, Result};

    use super::{LANES, dot};
    use crate::near::is_near;

    /// Blocks and threads of a launch.
    pub const GRID: [usize; 2] = [4, 128];

    /// Σ x\[i\]·y\[i\].
    pub fn dot_on(device: &Device, x: &[f32], y: &[f32]) -> Result<f32> {
        let [blocks, threads] = GRID;
        let (x, y) = (device.upload(x)?, device.upload(y)?);
        let mut partials = device.alloc::<f32>(blocks * threads / LANES)?;
        let kernel = dot::on(device)?.grid(blocks as u32).block(threads as u32);
        // SAFETY: `partials` is borrowed mutably.
        unsafe { kernel.launch(&x, &y, &mut partials)? };
        Ok(partials.to_vec()?.iter().sum())
    }

    /// Compares with the sum in `f64`.
    pub(super) fn check(x: &[f32], y: &[f32], got: f32) {
        let products = x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y));
        let magnitude = products.clone().map(f64::abs).sum();
        // A lane's share, the shuffles, and the host's sum of all warps.
        let threads = GRID[0] * GRID[1];
        let roundings = x.len().div_ceil(threads) + 5 + threads / LANES;
        assert!(
            is_near(got, products.sum(), magnitude, roundings),
            "{got}, {} elements",
            x.len()
        );
    }

    /// Runs the example.
    pub fn run(device: &Device) -> Result<()> {
        let x: Vec<f32> = (0..20_000).map(|i| (0.37 * i as f32).sin()).collect();
        let y: Vec<f32> = (0..20_000).map(|i| (0.36 * i as f32).sin()).collect();
        let got = dot_on(device, &x, &y)?;
        check(&x, &y, got);
        println!("the dot product of {} elements is {got}", x.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use blockwise::{Device, Result};

    use super::{GRID, check, dot, dot_on};
    use crate::test_devices::on_every_device;

    #[test]
    fn products_are_right_for_every_length() -> Result<()> {
        on_every_device(|device| {
            let [blocks, threads] = GRID;
            for len in [
                0,
                1,
                31,
                32,
                33,
                threads - 1,
                threads + 1,
                997,
                3 * blocks * threads + 1,
            ] {
                let x: Vec<f32> = (0..len).map(|i| (0.37 * i as f32).sin()).collect();
                let y: Vec<f32> = (0..len).map(|i| (0.11 * i as f32).cos()).collect();
                check(&x, &y, dot_on(device, &x, &y)?);
            }
            Ok(())
        })
    }

    #[test]
    fn a_block_of_part_of_a_warp_is_refused() -> Result<()> {
        let device = Device::checked();
        let (x, mut partials) = (device.upload(&[1.0; 48])?, device.alloc::<f32>(3)?);
        let kernel = dot::on(&device)?.grid(2).block(48);
        // SAFETY: `partials` is borrowed mutably.
        let error = unsafe { kernel.launch(&x, &x, &mut partials) }.unwrap_err();
        assert!(error.to_string().contains("is_multiple_of"), "{error}");
        Ok(())
    }
}
