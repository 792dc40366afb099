//! A matrix times a vector, a warp for each row.

use cuda_std::prelude::*;

/// `out = matrix · vector`; blocks of whole warps.
#[kernel]
pub unsafe fn matrix_vector(matrix: &[f32], vector: &[f32], rows: u32, out: *mut f32) {
    let row = thread::index_1d() / 32;
    if row >= rows {
        return;
    }
    let row_values = &matrix[row as usize * vector.len()..][..vector.len()];
    let lane = warp::lane_id() as usize;
    let products = row_values.iter().zip(vector).skip(lane).step_by(32);
    let mut sum: f32 = products.map(|(a, b)| a * b).sum();
    for distance in [16, 8, 4, 2, 1] {
        sum += warp::warp_shuffle_xor(u32::MAX, sum, distance, 32).0;
    }
    if lane == 0 {
        *out.add(row as usize) = sum;
    }
}
