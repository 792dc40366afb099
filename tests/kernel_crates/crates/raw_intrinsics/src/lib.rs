//! `intrinsics`: libdevice under its own names.

use cuda_std::{intrinsics, prelude::*};

/// Five columns for each pair of bits: leading zeros, bits set, the upper half of the product, the
/// bytes `0x5410` of both, 2 to the power of the low three bits.
#[kernel]
pub unsafe fn libdevice_calls(x: &[i32], y: &[i32], out: *mut i32) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let row = out.add(5 * i);
        *row = intrinsics::clz(x[i]);
        *row.add(1) = intrinsics::popc(x[i]);
        *row.add(2) = intrinsics::mulhi(x[i], y[i]);
        *row.add(3) = intrinsics::byte_perm(x[i], y[i], 0x5410);
        *row.add(4) = intrinsics::exp2f((x[i] & 7) as f32) as i32;
    }
}
