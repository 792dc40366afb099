//! Signs, extremes and classes of floats.

use cuda_std::prelude::*;

/// Six columns of bits for each pair: abs, signum, copysign, min, max, and class with order in one
/// number.
#[kernel]
pub unsafe fn signs(x: &[f64], y: &[f64], out: *mut u64) {
    let i = thread::index_1d() as usize;
    if i >= x.len() {
        return;
    }
    let (x, y) = (x[i], y[i]);
    let class = x.classify() as u64 * 16 + (x.total_cmp(&y) as i64 + 1) as u64;
    let columns = [
        x.abs().to_bits(),
        x.signum().to_bits(),
        x.copysign(y).to_bits(),
        x.min(y).to_bits(),
        x.max(y).to_bits(),
        class,
    ];
    for (column, bits) in columns.into_iter().enumerate() {
        *out.add(6 * i + column) = bits;
    }
}
