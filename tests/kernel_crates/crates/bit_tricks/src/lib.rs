//! Bits: counts, rotations, reversals, the funnel shift.

use cuda_std::prelude::*;

/// Eight columns for each `x` with `n = x % 32`.
#[kernel]
pub unsafe fn bit_tricks(x: &[u32], y: &[u32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    if i >= x.len() {
        return;
    }
    let (x, y) = (x[i], y[i]);
    let n = x % 32;
    let pair = u64::from(x) << 32 | u64::from(y);
    let columns = [
        x.count_ones() << 16 | (pair.count_zeros()),
        x.leading_zeros() << 16 | pair.leading_zeros(),
        x.trailing_zeros() << 16 | pair.trailing_zeros(),
        x.reverse_bits() ^ x.swap_bytes(),
        x.rotate_left(n) ^ y.rotate_right(n),
        (pair << n >> 32) as u32,
        (pair.rotate_left(n + 7) >> 32) as u32,
        x.isqrt() << 16 | x.checked_ilog2().unwrap_or(99),
    ];
    for (column, value) in columns.into_iter().enumerate() {
        *out.add(8 * i + column) = value;
    }
}
