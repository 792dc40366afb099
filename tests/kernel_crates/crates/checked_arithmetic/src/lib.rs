//! Checked, wrapping, saturating and overflowing arithmetic.

use cuda_std::prelude::*;

/// Eight columns for each pair.
#[kernel]
pub unsafe fn careful_arithmetic(x: &[i32], y: &[i32], out: *mut i32) {
    let i = thread::index_1d() as usize;
    if i >= x.len() {
        return;
    }
    let (x, y) = (x[i], y[i]);
    let (product, overflows) = x.overflowing_mul(y);
    let columns = [
        x.checked_add(y).unwrap_or(1),
        x.checked_sub(y).unwrap_or(2),
        x.saturating_mul(y),
        x.saturating_sub(y),
        product ^ i32::from(overflows),
        x.wrapping_neg().wrapping_abs(),
        x.abs_diff(y) as i32,
        x.checked_shl(y as u32).unwrap_or(3) ^ x.checked_pow(3).unwrap_or(4),
    ];
    for (column, value) in columns.into_iter().enumerate() {
        *out.add(8 * i + column) = value;
    }
}
