//! `GpuFloat`: roots, reciprocals, lengths.

use cuda_std::prelude::*;

/// Four columns for each pair: sqrt(|x|), cbrt(x), 1 / x, hypot(x, y). The square root and the
/// reciprocal are rounded correctly.
#[kernel]
pub unsafe fn roots(x: &[f32], y: &[f32], out: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let row = out.add(4 * i);
        *row = x[i].abs().sqrt();
        *row.add(1) = x[i].cbrt();
        *row.add(2) = x[i].recip();
        *row.add(3) = x[i].hypot(y[i]);
    }
}
