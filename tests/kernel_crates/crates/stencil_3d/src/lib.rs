//! A seven-point stencil in three dimensions that wraps around.

use cuda_std::prelude::*;

/// The sum of a cell's six neighbours minus six times itself, in integers, on a torus.
#[kernel]
pub unsafe fn laplacian_3d(cells: *const i32, size: &[u32; 3], out: *mut i32) {
    let at = thread::index_3d().to_array();
    if at.iter().zip(size).any(|(at, size)| at >= size) {
        return;
    }
    let read = |at: [u32; 3]| *cells.add(((at[2] * size[1] + at[1]) * size[0] + at[0]) as usize);
    let mut sum = -6 * read(at);
    for axis in 0..3 {
        for step in [1, size[axis] - 1] {
            let mut other = at;
            other[axis] = (at[axis] + step) % size[axis];
            sum += read(other);
        }
    }
    *out.add(((at[2] * size[1] + at[1]) * size[0] + at[0]) as usize) = sum;
}
