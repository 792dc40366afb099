//! Raw pointers: unaligned and volatile access, casts, offsets.

use cuda_std::prelude::*;

/// `out[i]` is the little-endian `u32` that starts at byte `3 · i + 1`, plus the distance of two
/// pointers; the last byte read is counted up.
#[kernel]
pub unsafe fn unaligned_words(bytes: *mut u8, count: usize, out: *mut u32) {
    let i = thread::index_1d() as usize;
    if i >= count {
        return;
    }
    let place = bytes.wrapping_add(3 * i + 1);
    let word = place.cast::<u32>().read_unaligned();
    let distance = place.offset_from(bytes) as u32;
    out.add(i).write_volatile(word.wrapping_add(distance));
    if i == count - 1 {
        *place.add(3) += 1;
    }
}
