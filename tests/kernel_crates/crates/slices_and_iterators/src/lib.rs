//! core's slices and iterators.

use cuda_std::prelude::*;

/// Row i of `out` is computed from the first i values: their weighted sum in reverse, the largest
/// difference of neighbours, the index of the first above 50 (or −1), and the sum of every third.
#[kernel]
pub unsafe fn iterators(values: &[i32], out: *mut i32) {
    let i = thread::index_1d() as usize;
    if i >= values.len() {
        return;
    }
    let values = &values[..i];
    let row = core::slice::from_raw_parts_mut(out.add(4 * i), 4);
    row[0] = values
        .iter()
        .rev()
        .zip(1..)
        .map(|(value, weight)| value * weight)
        .sum();
    let distances = values.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    row[1] = distances.max().unwrap_or(0);
    row[2] = values
        .iter()
        .position(|&value| value > 50)
        .map_or(-1, |at| at as i32);
    row[3] = values.iter().skip(1).step_by(3).copied().sum();
}
