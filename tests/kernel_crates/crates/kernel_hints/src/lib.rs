//! The launch's dimensions as hints of `#[kernel]`.

use cuda_std::prelude::*;

/// One dimension: `out[i] = 3 · i`.
#[kernel(grid_dim = 1d, block_dim = 1d)]
pub unsafe fn hinted_1d(out: *mut u32) {
    let i = thread::index_1d();
    *out.add(i as usize) = 3 * i;
}

/// Two dimensions of blocks of two: `out[y][x] = x − y`, in rows of eight.
#[kernel(grid_dim = 2d, block_dim = 2d)]
pub unsafe fn hinted_2d(out: *mut i32) {
    let at = thread::index_2d().as_ivec2();
    *out.add((8 * at.y + at.x) as usize) = at.x - at.y;
}
