//! Division and remainder of integers, rounded each way.

use cuda_std::prelude::*;

/// Six columns for each pair: quotient and remainder, the Euclidean ones, and those of the values
/// as unsigned integers. `y` is not 0.
#[kernel]
pub unsafe fn quotients(x: &[i64], y: &[i64], out: *mut i64) {
    let i = thread::index_1d() as usize;
    if i >= x.len() {
        return;
    }
    let (x, y) = (x[i], y[i]);
    let (unsigned, by) = (x as u64, y as u64);
    let columns = [
        x.wrapping_div(y),
        x.wrapping_rem(y),
        x.wrapping_div_euclid(y),
        x.wrapping_rem_euclid(y),
        (unsigned / by) as i64,
        (unsigned % by) as i64,
    ];
    for (column, value) in columns.into_iter().enumerate() {
        *out.add(6 * i + column) = value;
    }
}
