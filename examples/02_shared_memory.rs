//! Shared memory: the mean of each element and its neighbours.
//!
//! Each output reads 2·RADIUS + 1 elements, and neighbouring outputs read nearly the same ones. So
//! a block loads its span of the input once into shared memory, the fast memory that its threads
//! share, and computes from there.
//!
//! - Slot s of the tile holds x\[first + s − RADIUS\], zero outside x, where `first` is the block's
//!   first output. The threads divide the slots: `write` calls its closure for each slot that the
//!   thread owns. The 2·RADIUS slots beyond the block's outputs are the halo.
//! - The barrier between loading and computing orders the writes of slots before other threads'
//!   reads. The barrier after it orders these reads before the writes of the next tile.
//!
//! The compiler checks both. What `write` returns cannot be read; what the first barrier returns
//! cannot be written. With `let loaded = written;` in place of that barrier:
//!
//! ```text
//! error[E0277]: a `Written` array can be read after a barrier
//! ```
//!
//! Without the second one, "use of moved value: `tile`".
//!
//! Every thread of a block must arrive at a barrier, including one that has no output. If the
//! kernel began with an early `return` for those, it would not build:
//!
//! ```text
//! kernel `smooth`: not all threads of the block reach the barrier at
//! examples/02_shared_memory.rs:63:28: the branch at examples/02_shared_memory.rs:53:8 depends on the
//! thread; move the barrier out of what the branch decides: `if .. { before } block.sync_threads(..);
//! if .. { after }`
//! ```

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// Threads of a block, and outputs of a tile.
pub const THREADS: usize = 256;
/// Neighbours on each side.
pub const RADIUS: usize = 3;
/// Elements of a mean.
pub const WIDTH: usize = 2 * RADIUS + 1;

// ANCHOR: kernel
/// y\[i\] = mean of x\[i − RADIUS ..= i + RADIUS\], where x is zero beyond its ends. Any grid.
#[kernel(require(x.len() == y.len()))]
pub fn smooth(
    block: &mut Block<THREADS>,
    mut tile: Shared<[f32; THREADS + 2 * RADIUS]>,
    x: &[f32],
    mut y: Out<f32>,
) {
    let thread = block.thread();
    for place in block.tiles(y.len()) {
        // An index left of x wraps to a huge one, which is outside x too.
        let start = place.start().wrapping_sub(RADIUS);
        let written = tile.write(block, |slot| {
            x.get(start.wrapping_add(slot)).copied().unwrap_or(0.0)
        });
        // Orders every thread's writes to the tile before any thread's reads of others' slots.
        let loaded = block.sync_threads(written);
        y.store(block, place, |_| {
            let mut sum = 0.0;
            for k in 0..WIDTH {
                sum += loaded[thread + k];
            }
            sum / WIDTH as f32
        });
        // Orders every thread's reads before any thread's writes of the next tile.
        tile = block.sync_threads(loaded);
    }
}
// ANCHOR_END: kernel

#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;

#[cfg(not(target_arch = "nvptx64"))]
mod host {
    use blockwise::{Device, Result};

    use super::{RADIUS, WIDTH, smooth};
    use crate::near::is_near;

    /// The mean of each element and its neighbours.
    pub fn smooth_on(device: &Device, x: &[f32]) -> Result<Vec<f32>> {
        let x = device.upload(x)?;
        let mut y = device.zeros::<f32>(x.len())?;
        // Blocks of THREADS, as the kernel's `Block<THREADS>` says.
        smooth::on(device)?.covering(x.len())?.launch(&x, &mut y)?;
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
            // One rounding per addition, and one for the division.
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
    fn a_small_grid_strides_over_all_tiles() -> Result<()> {
        on_every_device(|device| {
            let values: Vec<f32> = (0..1_500).map(|i| (0.37 * i as f32).sin()).collect();
            let (x, mut y) = (device.upload(&values)?, device.zeros(values.len())?);
            smooth::on(device)?.grid(2).launch(&x, &mut y)?;
            check(&values, &y.to_vec()?);
            Ok(())
        })
    }

    #[test]
    fn another_block_is_refused() -> Result<()> {
        let device = Device::checked();
        let (x, mut y) = (device.upload(&[0.0; 128])?, device.zeros(128)?);
        let kernel = smooth::on(&device)?.grid(1).block(128);
        let error = kernel.launch(&x, &mut y).unwrap_err();
        assert!(error.to_string().contains("in place of 256"), "{error}");
        Ok(())
    }
}
