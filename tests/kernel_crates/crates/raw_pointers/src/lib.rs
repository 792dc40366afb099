//! Raw pointers: unaligned and volatile access, casts, offsets.

use cuda_std::prelude::*;

/// `out[i]` is the little-endian `u32` at byte `3 · i + 1`, plus that offset, computed from two
/// pointers. The last thread then increments the last byte that it read.
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
