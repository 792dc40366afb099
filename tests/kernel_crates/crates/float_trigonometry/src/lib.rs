//! `GpuFloat`: sine, cosine, tangent and their inverses.

use cuda_std::prelude::*;

/// Nine columns for each angle: sin, cos, tan, asin, acos, atan, atan2(x, 0.75), and sin and cos by
/// `sin_cos`.
#[kernel]
pub unsafe fn trigonometry(x: &[f64], out: *mut f64) {
    let i = thread::index_1d() as usize;
    if i >= x.len() {
        return;
    }
    let x = x[i];
    let (sin, cos) = x.sin_cos();
    let columns = [
        x.sin(),
        x.cos(),
        x.tan(),
        x.asin(),
        x.acos(),
        x.atan(),
        x.atan2(0.75),
        sin,
        cos,
    ];
    for (column, value) in columns.into_iter().enumerate() {
        *out.add(9 * i + column) = value;
    }
}
