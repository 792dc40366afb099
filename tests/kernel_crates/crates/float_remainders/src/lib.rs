//! Quotients and remainders of floats.

use cuda_std::prelude::*;

/// Three columns for each pair: `x % y`, `div_euclid`, `rem_euclid`.
#[kernel]
pub unsafe fn float_remainders(x: &[f32], y: &[f32], out: *mut f32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let row = out.add(3 * i);
        *row = x[i] % y[i];
        *row.add(1) = x[i].div_euclid(y[i]);
        *row.add(2) = x[i].rem_euclid(y[i]);
    }
}
