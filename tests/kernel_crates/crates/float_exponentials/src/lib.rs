//! `GpuFloat`: exponentials, logarithms, powers.

use cuda_std::prelude::*;

/// Eleven columns for each positive `x`.
#[kernel]
pub unsafe fn exponentials(x: &[f64], out: *mut f64) {
    let i = thread::index_1d() as usize;
    if i >= x.len() {
        return;
    }
    let x = x[i];
    let columns = [
        x.exp(),
        x.exp2(),
        x.exp_m1(),
        x.ln(),
        x.ln_1p(),
        x.log2(),
        x.log10(),
        x.log(3.0),
        x.powf(1.7),
        x.powi(-3),
        x.powi(5),
    ];
    for (column, value) in columns.into_iter().enumerate() {
        *out.add(11 * i + column) = value;
    }
}
