//! `thread::index_2d`: one thread for each pixel of a picture whose sides no block divides.

use cuda_std::prelude::*;

/// `out[y][x] = 1000 · y + x`, with the thread's own corner of its block in the upper half.
#[kernel]
pub unsafe fn pixel_numbers(width: u32, height: u32, out: *mut u32) {
    let at = thread::index_2d();
    if at.x >= width || at.y >= height {
        return;
    }
    let corner = thread::thread_idx_x() == 0 && thread::thread_idx_y() == 0;
    *out.add((at.y * width + at.x) as usize) = u32::from(corner) << 31 | (1000 * at.y + at.x);
}
