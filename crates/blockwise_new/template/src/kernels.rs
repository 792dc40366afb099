//! A kernel with shared memory, and the function that launches it.

use cuda_std::prelude::*;

/// Threads of a block. Each makes one element.
pub const BLOCK: u32 = 256;

/// `y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3`, where elements outside `x` count as 0.
///
/// A block loads its part of `x` and one element on either side into a shared tile, so that each
/// element comes from global memory once and not three times.
#[kernel(require(
    block.x == BLOCK && block.y * block.z == 1,
    grid.x as usize * BLOCK as usize >= x.len() && grid.y * grid.z == 1,
    y.len() == x.len(),
))]
pub fn smooth(x: &[f32], mut y: Out<f32>) {
    let tile = shared_array![f32; BLOCK as usize + 2];
    let thread = thread::thread_idx_x() as usize;
    let i = thread::index_1d() as usize;
    let load = |i: usize| if i < x.len() { x[i] } else { 0.0 };

    // Element j of the block's part of `x` goes to slot j + 1.
    // SAFETY: thread < BLOCK, so that all slots lie in the tile, and each is written by one thread.
    unsafe {
        *tile.add(thread + 1) = load(i);
        if thread == 0 {
            *tile = load(i.wrapping_sub(1));
        }
        if thread == BLOCK as usize - 1 {
            *tile.add(thread + 2) = load(i + 1);
        }
    }

    // All slots are written before any is read.
    thread::sync_threads();

    // The grid covers `x`: a thread has one element, or none.
    if let Some((_, y)) = y.mine().next() {
        // SAFETY: as above; nobody writes any more.
        *y = unsafe { *tile.add(thread) + *tile.add(thread + 1) + *tile.add(thread + 2) } / 3.0;
    }
}

/// [`smooth`] of a whole signal, with the copies to the device and back.
#[cfg(not(target_arch = "nvptx64"))]
pub fn smoothed(device: &blockwise::Device, x: &[f32]) -> blockwise::Result<Vec<f32>> {
    let x = device.upload(x)?;
    let mut y = device.alloc(x.len())?;
    smooth::on(device)?
        .block(BLOCK)
        .covering(x.len())?
        .launch(&x, &mut y)?;
    y.to_vec()
}
