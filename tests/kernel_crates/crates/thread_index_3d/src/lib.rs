//! `thread::index_3d` and the vectors it is made of.

use cuda_std::glam::UVec3;
use cuda_std::prelude::*;

/// `out[z][y][x] = x + 100 · y + 10000 · z` in a box of `width · height · depth`; wrong indices
/// leave holes.
#[kernel]
pub unsafe fn voxel_numbers(width: u32, height: u32, depth: u32, out: *mut u32) {
    let at = thread::index_3d();
    let by_hand = thread::block_idx() * thread::block_dim() + thread::thread_idx();
    let inside = at.cmplt(UVec3::new(width, height, depth)).all();
    if inside && at == by_hand {
        let place = (at.z * height + at.y) * width + at.x;
        *out.add(place as usize) = at.x + 100 * at.y + 10_000 * at.z;
    }
}
