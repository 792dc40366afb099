//! Exercise 2: a grid of any size covers an array of any length.

use cuda_std::prelude::*;

/// y\[i\] = 2 · x\[i\]. Any grid of one dimension.
///
/// # Safety
/// No other code writes `y` during the launch.
#[kernel(require(x.len() == y.len(), [grid.y, grid.z, block.y, block.z] == [1; 4]))]
pub unsafe fn double(x: &[u32], y: *mut u32) {
    let threads = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = thread::index_1d() as usize;
    while i < x.len() {
        // SAFETY: below both lengths; no other thread of the grid has this i.
        unsafe { y.add(i).write(2 * *x.get_unchecked(i)) };
        i += threads;
    }
}
