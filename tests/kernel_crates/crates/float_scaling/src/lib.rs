//! `FloatExt`: a float's fraction and exponent.

use cuda_std::prelude::*;
use cuda_std::FloatExt;

/// Four columns of bits: the fraction, its exponent, both put together again by `ldexp`, `x`
/// saturated to [0, 1].
#[kernel]
pub unsafe fn scalings(x: &[f32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let (fraction, exponent) = x[i].frexp();
        let row = out.add(4 * i);
        *row = fraction.to_bits();
        *row.add(1) = exponent as u32;
        *row.add(2) = fraction.ldexp(exponent).to_bits();
        *row.add(3) = x[i].saturate().to_bits();
    }
}
