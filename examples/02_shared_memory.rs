//! Shared memory: the mean of each element and its neighbours.
//!
//! Each output reads 2·RADIUS + 1 elements, and neighbouring outputs read nearly the same ones. So
//! a block loads its span of the input once into shared memory, the fast memory that its threads
//! have in common, and computes from there.
//!
//! - Slot s of the tile holds x\[first + s − RADIUS\], zero outside x, where `first` is the block's
//!   first output. Thread t loads slot t, and the first 2·RADIUS threads load one slot more each:
//!   the halo.
//! - One barrier between loading and computing: a thread reads slots that others wrote.
//! - A thread without an output does not return early: the barrier waits for every thread of the
//!   block.
//!
//! Shared memory is raw: the kernel is `unsafe`, and says why it is right where it touches the
//! tile.

use cuda_std::prelude::*;

/// Threads of a block, and outputs of one.
pub const THREADS: usize = 256;
/// Neighbours on each side.
pub const RADIUS: usize = 3;
/// Elements of a mean.
pub const WIDTH: usize = 2 * RADIUS + 1;

/// y\[i\] = mean of x\[i − RADIUS ..= i + RADIUS\], where x is zero beyond its ends.
///
/// # Safety
/// Nobody else writes `y`. The rest is checked.
#[kernel(require(
    x.len() == y.len(),
    block.x as usize == THREADS,
    grid.x as usize * THREADS >= x.len(),
    [grid.y, grid.z, block.y, block.z] == [1; 4]
))]
pub unsafe fn smooth(x: &[f32], y: *mut f32) {
    let tile = shared_array![f32; THREADS + 2 * RADIUS];
    let thread = thread::thread_idx_x() as usize;
    let i = thread::block_idx_x() as usize * THREADS + thread;
    // What lies left of x wraps around to a huge index, which is outside x too.
    let element = |i: usize| x.get(i.wrapping_sub(RADIUS)).copied().unwrap_or(0.0);
    // SAFETY: slots of the tile, each written by one thread.
    unsafe {
        tile.add(thread).write(element(i));
        if thread < 2 * RADIUS {
            tile.add(THREADS + thread).write(element(i + THREADS));
        }
    }
    // Every thread's writes to the tile come before any thread's reads of its neighbours' slots.
    thread::sync_threads();
    if i < x.len() {
        let mut sum = 0.0;
        for k in 0..WIDTH {
            // SAFETY: thread + k is below THREADS + 2·RADIUS.
            sum += unsafe { tile.add(thread + k).read() };
        }
        // SAFETY: inside y, and only this thread has this i.
        unsafe { y.add(i).write(sum / WIDTH as f32) };
    }
}

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Device, Result};

    use super::{RADIUS, THREADS, WIDTH, smooth};
    use crate::near::is_near;

    /// The mean of each element and its neighbours.
    pub fn smooth_on(device: &Device, x: &[f32]) -> Result<Vec<f32>> {
        let x = device.upload(x)?;
        let mut y = device.alloc::<f32>(x.len())?;
        let kernel = smooth::on(device)?
            .block(THREADS as u32)
            .covering(x.len())?;
        // SAFETY: `y` is borrowed mutably.
        unsafe { kernel.launch(&x, &mut y)? };
        y.to_vec()
    }

    /// Compares with sums in `f64`.
    pub(super) fn check(x: &[f32], got: &[f32]) {
        assert_eq!(got.len(), x.len());
        for (i, got) in got.iter().enumerate() {
            let end = x.len().min(i + RADIUS + 1);
            let terms = x[i.saturating_sub(RADIUS)..end]
                .iter()
                .map(|x| f64::from(*x) / WIDTH as f64);
            let magnitude = terms.clone().map(f64::abs).sum();
            // An addition for each term, and the division.
            assert!(
                is_near(*got, terms.sum(), magnitude, WIDTH + 1),
                "element {i} of {}: {got}",
                x.len()
            );
        }
    }

    /// Runs the example.
    pub fn run(device: &Device) -> Result<()> {
        let x: Vec<f32> = (0..50_000).map(|i| (0.37 * i as f32).sin()).collect();
        check(&x, &smooth_on(device, &x)?);
        println!(
            "{} means of {WIDTH} elements, each element loaded once a block",
            x.len()
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use blockwise::{Device, Result};

    use super::{THREADS, check, smooth, smooth_on};
    use crate::test_devices::on_every_device;

    #[test]
    fn means_are_right_at_every_edge() -> Result<()> {
        on_every_device(|device| {
            for len in [
                0,
                1,
                THREADS - 1,
                THREADS,
                THREADS + 1,
                997,
                5 * THREADS + 2,
            ] {
                let x: Vec<f32> = (0..len).map(|i| (0.37 * i as f32).sin()).collect();
                check(&x, &smooth_on(device, &x)?);
            }
            Ok(())
        })
    }

    #[test]
    fn a_grid_that_leaves_outputs_out_is_refused() -> Result<()> {
        let device = Device::checked();
        let (x, mut y) = (device.upload(&[0.0; 257])?, device.alloc::<f32>(257)?);
        let kernel = smooth::on(&device)?.grid(1).block(THREADS as u32);
        // SAFETY: `y` is borrowed mutably.
        let error = unsafe { kernel.launch(&x, &mut y) }.unwrap_err();
        assert!(error.to_string().contains(">= x.len()"), "{error}");
        Ok(())
    }
}
