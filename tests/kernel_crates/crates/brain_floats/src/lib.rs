//! `bf16`: conversions round to nearest even, comparisons, order.

use cuda_std::half::bf16;
use cuda_std::prelude::*;

/// The bits of `x` as `bf16`, and of the greater of it and its neighbour, packed.
#[kernel]
pub unsafe fn brain_floats(x: &[f32], out: *mut u32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let own = bf16::from_f32(x[i]);
        let other = bf16::from_f32(x[(i + 1) % x.len()]);
        let greater = if own > other { own } else { other };
        *out.add(i) = u32::from(own.to_bits()) << 16 | u32::from(greater.to_bits());
    }
}
