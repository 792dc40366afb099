//! Exercise 11: 16 bytes a load.

use cuda_std::prelude::*;

/// Four floats that are loaded at once.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub struct Four(pub [f32; 4]);

/// y\[i\] = x\[4i\] + x\[4i + 1\] + x\[4i + 2\] + x\[4i + 3\].
///
/// # Safety
/// No other code writes `y` during the launch.
#[kernel(require(
    x.len() == 4 * y.len(),
    x.is_aligned_to(16),
    [grid.y, grid.z, block.y, block.z] == [1; 4]
))]
pub unsafe fn sums_of_four(x: &[f32], y: *mut [f32]) {
    let i = thread::index_1d() as usize;
    if i < y.len() {
        // SAFETY: `x` has four elements for each of `y`, at a multiple of 16 bytes; no other
        // thread has this i.
        unsafe {
            let Four([a, b, c, d]) = x.as_ptr().cast::<Four>().add(i).read();
            y.cast::<f32>().add(i).write(a + b + c + d);
        }
    }
}
