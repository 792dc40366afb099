//! A transposition by padded tiles.

use cuda_std::prelude::*;

const TILE: usize = 16;

/// `out[x][y] = matrix[y][x]`; blocks of 16×16.
#[kernel]
pub unsafe fn transposed(matrix: *const f32, height: usize, width: usize, out: *mut f32) {
    let tile = shared_array![[f32; TILE + 1]; TILE];
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let (left, top) = (
        thread::block_idx_x() as usize * TILE,
        thread::block_idx_y() as usize * TILE,
    );
    if left + tx < width && top + ty < height {
        (*tile.add(ty))[tx] = *matrix.add((top + ty) * width + left + tx);
    }
    thread::sync_threads();
    if left + ty < width && top + tx < height {
        *out.add((left + ty) * height + top + tx) = (*tile.add(tx))[ty];
    }
}
