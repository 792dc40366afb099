//! Exercise 5: neighbouring threads at neighbouring addresses.

use cuda_std::prelude::*;

/// Elements of a thread.
pub const ITEMS: usize = 8;

/// y\[i\] = ½ · x\[i\], [`ITEMS`] elements a thread.
///
/// # Safety
/// No other code writes `y` during the launch.
#[kernel(require(
    x.len() == y.len(),
    x.len() <= ITEMS * (grid.x * block.x) as usize,
    [grid.y, grid.z, block.y, block.z] == [1; 4]
))]
pub unsafe fn halve(x: &[f32], y: *mut f32) {
    let thread = thread::index_1d() as usize;
    let threads = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    for item in 0..ITEMS {
        let i = item * threads + thread;
        if i < x.len() {
            // SAFETY: below the length; no other thread has this i.
            unsafe { y.add(i).write(0.5 * x[i]) };
        }
    }
}
