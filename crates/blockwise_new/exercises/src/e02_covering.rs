//! Exercise 2: a grid of any size covers an array of any length.

use cuda_std::prelude::*;

/// y\[i\] = 2 · x\[i\]. Any grid of one dimension.
///
/// # Safety
/// No other code writes `y` during the launch.
#[kernel(require(x.len() == y.len(), [grid.y, grid.z, block.y, block.z] == [1; 4]))]
pub unsafe fn double(x: &[u32], y: *mut u32) {
    let i = thread::index_1d() as usize;
    // TODO: a thread past the end has no element; where there are fewer threads than elements,
    // each has several. `thread::grid_dim_x() * thread::block_dim_x()` is the number of threads.
    //
    // SAFETY: not what it claims yet.
    unsafe { y.add(i).write(2 * *x.get_unchecked(i)) };
}
