//! A five-point stencil with a halo in shared memory.

use cuda_std::prelude::*;

const TILE: usize = 16;
const SIDE: usize = TILE + 2;

/// One step of heat: `out = u + rate · (left + right + up + down − 4u)`, zeros outside. Blocks of
/// 16×16.
#[kernel]
pub unsafe fn heat_2d(u: &[f32], width: i32, height: i32, rate: f32, out: *mut f32) {
    let tile = shared_array![[f32; SIDE]; SIDE];
    let (left, top) = (
        thread::block_idx_x() as i32 * 16,
        thread::block_idx_y() as i32 * 16,
    );
    let (tx, ty) = (
        thread::thread_idx_x() as usize,
        thread::thread_idx_y() as usize,
    );
    let mut place = ty * TILE + tx;
    while place < SIDE * SIDE {
        let (row, column) = (place / SIDE, place % SIDE);
        let (x, y) = (left + column as i32 - 1, top + row as i32 - 1);
        let inside = (0..width).contains(&x) && (0..height).contains(&y);
        (*tile.add(row))[column] = if inside {
            u[(y * width + x) as usize]
        } else {
            0.0
        };
        place += TILE * TILE;
    }
    thread::sync_threads();
    let (x, y) = (left + tx as i32, top + ty as i32);
    if x < width && y < height {
        let at = |dx: usize, dy: usize| (*tile.add(ty + dy))[tx + dx];
        let around = at(0, 1) + at(2, 1) + at(1, 0) + at(1, 2);
        *out.add((y * width + x) as usize) = at(1, 1) + rate * (around - 4.0 * at(1, 1));
    }
}
