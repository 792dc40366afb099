//! `i128` and `u128`.

use cuda_std::prelude::*;

/// Eight columns for each pair `a`, `b`: the product, the quotient and the remainder of their
/// squares' product by `a + 1`, a shift.
#[kernel]
pub unsafe fn wide_arithmetic(a: &[u64], b: &[u64], out: *mut u64) {
    let i = thread::index_1d() as usize;
    if i >= a.len() {
        return;
    }
    let (a, b) = (u128::from(a[i]), u128::from(b[i]));
    let product = a * b;
    let signed = -(product as i128 >> 3);
    let columns = [
        product,
        product.wrapping_mul(product) / (a + 1),
        (signed % (b as i128 + 1)) as u128,
        product << (b % 64) as u32,
    ];
    for (column, value) in columns.into_iter().enumerate() {
        *out.add(8 * i + 2 * column) = value as u64;
        *out.add(8 * i + 2 * column + 1) = (value >> 64) as u64;
    }
}
