//! `GpuFloat`: hyperbolic functions and their inverses.

use cuda_std::prelude::*;

/// Six columns for each `x`: sinh, cosh, tanh, asinh, acosh of 1 + x², atanh of tanh's half.
#[kernel]
pub unsafe fn hyperbolics(x: &[f32], out: *mut f32) {
    let i = thread::index_1d() as usize;
    if i >= x.len() {
        return;
    }
    let x = x[i];
    let columns = [
        x.sinh(),
        x.cosh(),
        x.tanh(),
        x.asinh(),
        x.mul_add(x, 1.0).acosh(),
        (x * 0.125).atanh(),
    ];
    for (column, value) in columns.into_iter().enumerate() {
        *out.add(6 * i + column) = value;
    }
}
