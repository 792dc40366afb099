//! `FloatExt`: mathematical functions that std lacks.

use cuda_std::prelude::*;
use cuda_std::FloatExt;

/// Row i of `out`: eight functions of `x[i]`, which is in (0, 1).
#[kernel]
pub unsafe fn special_functions(x: &[f64], out: *mut f64) {
    let i = thread::index_1d() as usize;
    if i >= x.len() {
        return;
    }
    let x = x[i];
    let columns = [
        x.sinpi(),
        x.error_function(),
        x.complementary_error_function(),
        x.norm_cdf(),
        x.inv_norm_cdf().norm_cdf(),
        x.gamma(),
        x.j0(),
        x.rcbrt(),
    ];
    for (column, value) in columns.into_iter().enumerate() {
        *out.add(8 * i + column) = value;
    }
}
