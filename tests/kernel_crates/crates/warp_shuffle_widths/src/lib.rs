//! Shuffles of values of 8 to 128 bits.

use cuda_std::prelude::*;
use cuda_std::warp::{warp_shuffle_down, warp_shuffle_xor};

/// Four columns from the lane with the last bit flipped and the one three above: `i8` and `u16`
/// (packed), `i64`, and `u128`'s halves.
#[kernel]
pub unsafe fn shuffled_widths(values: &[i64], out: *mut i64) {
    let i = thread::index_1d() as usize;
    let value = values[i];
    let (byte, _) = warp_shuffle_xor(u32::MAX, value as i8, 1, 32);
    let (half, _) = warp_shuffle_xor(u32::MAX, value as u16, 1, 32);
    let (word, _) = warp_shuffle_down(u32::MAX, value, 3, 32);
    let wide = (value as u128) << 64 | !value as u64 as u128;
    let (wide, _) = warp_shuffle_down(u32::MAX, wide, 3, 32);
    let row = out.add(4 * i);
    *row = i64::from(byte) << 32 | i64::from(half);
    *row.add(1) = word;
    *row.add(2) = wide as i64;
    *row.add(3) = (wide >> 64) as i64;
}
