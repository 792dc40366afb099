//! `mul_add`: the rounding error of a product, exactly.

use cuda_std::prelude::*;

/// Two columns: the rounded product, and what it lacks.
#[kernel]
pub unsafe fn exact_products(x: &[f64], y: &[f64], out: *mut f64) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let product = x[i] * y[i];
        *out.add(2 * i) = product;
        *out.add(2 * i + 1) = x[i].mul_add(y[i], -product);
    }
}
