//! `f16`: stored small, computed in `f32`.

use cuda_std::half::f16;
use cuda_std::prelude::*;

/// `out = a · x + y` in halves.
#[kernel]
pub unsafe fn half_axpy(a: f16, x: &[f16], y: &[f16], out: *mut f16) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        *out.add(i) = f16::from_f32(a.to_f32() * x[i].to_f32() + y[i].to_f32());
    }
}
