//! A loop with the grid's stride: any grid does all the work.

use cuda_std::prelude::*;

/// `y = a · x + y`.
#[kernel]
pub unsafe fn saxpy(a: f32, x: &[f32], y: *mut f32) {
    let stride = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
    let mut i = thread::index_1d() as usize;
    while i < x.len() {
        let y = &mut *y.add(i);
        *y += a * x[i];
        i += stride;
    }
}
