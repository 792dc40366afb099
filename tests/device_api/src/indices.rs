//! Indices and dimensions.

use cuda_std::prelude::*;

use crate::put;

/// Any three-dimensional launch; 21 columns, in rows of [`thread::index`]: index x y z of the
/// thread and the block, dimension x y z of block and grid, `index`, `index_1d`, `index_2d`,
/// `index_3d`, `lane_id`, `first`.
#[kernel]
pub unsafe fn positions(out: *mut u32) {
    let row = thread::index();
    let (thread, block) = (thread::thread_idx(), thread::block_idx());
    let (block_dim, grid_dim) = (thread::block_dim(), thread::grid_dim());
    let (flat, space) = (thread::index_2d(), thread::index_3d());
    let columns = [
        thread.x,
        thread.y,
        thread.z,
        block.x,
        block.y,
        block.z,
        block_dim.x,
        block_dim.y,
        block_dim.z,
        grid_dim.x,
        grid_dim.y,
        grid_dim.z,
        row,
        thread::index_1d(),
        flat.x,
        flat.y,
        space.x,
        space.y,
        space.z,
        warp::lane_id(),
        thread::first() as u32,
    ];
    for (column, value) in (0..).zip(columns) {
        // SAFETY: the crate's rule.
        unsafe { put(out, row, 21, column, value) };
    }
}
