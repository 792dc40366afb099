//! Warps: a dot product without shared memory.
//!
//! The threads of a block run in warps of 32 lanes. The lanes of a warp can read each other's
//! registers: a shuffle. So a warp sums its 32 values in 5 shuffles, with no shared memory and no
//! barrier; compare with the tree of `03_reduction`.
//!
//! - In the rounds with `delta` = 16, 8, 4, 2, 1, lane l adds the value of lane l + delta. Lane 0
//!   ends up with the sum of all. The block is a whole number of warps, so every source lane
//!   exists; [`Warp::fold`] also handles warps with fewer lanes.
//! - A shuffle waits for every lane, as a barrier does for every thread. Lanes may leave the loop
//!   before it one by one; a shuffle that only some lanes reach is a build error.
//! - Lane 0 of each warp adds the warp's sum to the total: one atomic addition per warp, not per
//!   element. Their order varies, and with it the last bits of the total.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// Threads of a block.
pub const THREADS: usize = 128;

// ANCHOR: kernel
/// total\[0\] += Σ x\[i\]·y\[i\]. Any grid.
#[kernel(require(x.len() == y.len(), total.len() == 1))]
pub fn dot(block: &mut Block<THREADS>, x: &[f32], y: &[f32], total: Atomics<f32>) {
    let mut sum = block.fold_strided((x, y), 0.0_f32, |sum, (x, y)| x.mul_add(y, sum));
    let warp = block.warp();
    for delta in [16, 8, 4, 2, 1] {
        sum += warp.shuffle_down(sum, delta);
    }
    if warp.lane() == 0 {
        total.add(0, sum);
    }
}
// ANCHOR_END: kernel

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Device, Result};

    use super::{THREADS, dot};
    use crate::near::is_near;

    /// Blocks of a launch.
    pub const BLOCKS: usize = 4;

    /// Σ x\[i\]·y\[i\].
    pub fn dot_on(device: &Device, x: &[f32], y: &[f32]) -> Result<f32> {
        let (x, y) = (device.upload(x)?, device.upload(y)?);
        let mut total = device.zeros::<f32>(1)?;
        let kernel = dot::on(device)?.grid(BLOCKS as u32);
        kernel.launch(&x, &y, &mut total)?;
        Ok(total.to_vec()?[0])
    }

    /// Compares with the sum in `f64`.
    pub(super) fn check(x: &[f32], y: &[f32], got: f32) {
        let products = x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y));
        let magnitude = products.clone().map(f64::abs).sum();
        // Additions per term: a lane's share, the shuffles, and the additions of all warps.
        let threads = BLOCKS * THREADS;
        let roundings = x.len().div_ceil(threads) + 5 + threads / 32;
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

    use super::{BLOCKS, THREADS, check, dot, dot_on};
    use crate::test_devices::on_every_device;

    #[test]
    fn products_are_right_for_every_length() -> Result<()> {
        on_every_device(|device| {
            for len in [
                0,
                1,
                31,
                32,
                33,
                THREADS - 1,
                THREADS + 1,
                997,
                3 * BLOCKS * THREADS + 1,
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
        let (x, mut total) = (device.upload(&[1.0; 48])?, device.zeros::<f32>(1)?);
        let kernel = dot::on(&device)?.grid(2).block(48);
        let error = kernel.launch(&x, &x, &mut total).unwrap_err();
        assert!(error.to_string().contains("in place of 128"), "{error}");
        Ok(())
    }
}
