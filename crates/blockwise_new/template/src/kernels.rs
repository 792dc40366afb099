//! A kernel with shared memory, and the function that launches it.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// Threads per block. Each computes one element of a tile.
pub const BLOCK: usize = 256;

/// `y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3`, where elements outside `x` count as 0. Any grid.
///
/// A block loads its part of `x` and one element on either side into a shared tile, so that each
/// element is read from global memory once instead of three times.
#[kernel(require(x.len() == y.len()))]
pub fn smooth(
    block: &mut Block<BLOCK>,
    mut tile: Shared<[f32; BLOCK + 2]>,
    x: &[f32],
    mut y: Out<f32>,
) {
    let thread = block.thread();
    for place in block.tiles(y.len()) {
        // Slot 0 is the left neighbour. A negative index wraps to one outside `x`.
        let first = place.start().wrapping_sub(1);
        let written = tile.write(block, |slot| {
            x.get(first.wrapping_add(slot)).copied().unwrap_or(0.0)
        });
        // Orders all writes before any read. Without it the kernel does not compile.
        let loaded = block.sync_threads(written);
        y.store(block, place, |_| {
            (loaded[thread] + loaded[thread + 1] + loaded[thread + 2]) / 3.0
        });
        // Orders all reads before any write of the next round.
        tile = block.sync_threads(loaded);
    }
}

/// [`smooth`] of a whole signal, including the copies to and from the device.
#[cfg(not(target_arch = "nvptx64"))]
pub fn smoothed(device: &blockwise::Device, x: &[f32]) -> blockwise::Result<Vec<f32>> {
    let x = device.upload(x)?;
    let mut y = device.zeros(x.len())?;
    smooth::on(device)?.covering(x.len())?.launch(&x, &mut y)?;
    y.to_vec()
}
