//! Integers of 8 and 16 bits: sign extension, wrapping, saturation, averages.

use cuda_std::prelude::*;

/// Blends two rows of signed bytes and two of 16-bit samples; saturates both.
#[kernel]
pub unsafe fn small_integers(
    a: &[i8],
    b: &[i8],
    c: &[u16],
    d: &[i16],
    bytes: *mut i8,
    words: *mut u16,
) {
    let i = thread::index_1d() as usize;
    if i < a.len() {
        let average = (i16::from(a[i]) + i16::from(b[i])) >> 1;
        *bytes.add(i) = (average as i8).wrapping_mul(3).saturating_add(a[i]);
        *words.add(i) = c[i].saturating_add_signed(d[i]).rotate_left(3) ^ (a[i] as u8 as u16);
    }
}
