//! `GpuFloat`: to integers and back.

use cuda_std::prelude::*;

/// Eight columns of bits for each `x`: floor, ceil, round, round_ties_even, trunc, fract; as `i32`
/// and as `u8`.
#[kernel]
pub unsafe fn roundings(x: &[f32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    if i >= x.len() {
        return;
    }
    let x = x[i];
    let columns = [
        x.floor().to_bits(),
        x.ceil().to_bits(),
        x.round().to_bits(),
        x.round_ties_even().to_bits(),
        x.trunc().to_bits(),
        x.fract().to_bits(),
        (x as i32) as u32,
        u32::from(x as u8),
    ];
    for (column, bits) in columns.into_iter().enumerate() {
        *out.add(8 * i + column) = bits;
    }
}
