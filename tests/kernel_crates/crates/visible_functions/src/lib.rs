//! `#[externally_visible]`: a device function that stays in the PTX under its name.

use cuda_std::{externally_visible, prelude::*};

/// One step of xorshift.
#[externally_visible]
pub extern "C" fn xorshift_step(mut x: u32) -> u32 {
    x ^= x << 13;
    x ^= x >> 17;
    x ^ x << 5
}

/// `out[i]` is `i + 1` after three steps.
#[kernel]
pub unsafe fn xorshift_numbers(out: *mut u32) {
    let i = thread::index_1d();
    let number = (0..3).fold(i + 1, |x, _| xorshift_step(x));
    *out.add(i as usize) = number;
}
