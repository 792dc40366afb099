//! Partial results in global memory, by relaxed 64-bit accesses.

use core::mem::transmute_copy;

use cuda_std::atomic::intrinsics::{atomic_load_relaxed_64_device, atomic_store_relaxed_64_device};
use cuda_std::prelude::*;

/// Reads a partial result, which a block may be writing if the ticket did not start at 0.
///
/// # Safety
/// `place` points to one that is accessed only atomically.
#[inline(always)]
pub(super) unsafe fn load<P: Plain>(place: *const P) -> P {
    // SAFETY: the caller's promise, and the types are of one size.
    unsafe {
        let word = |i| atomic_load_relaxed_64_device(place.cast::<u64>().add(i));
        match size_of::<P>() {
            8 => transmute_copy(&word(0)),
            _ => transmute_copy(&[word(0), word(1)]),
        }
    }
}

/// Writes a partial result for the last block. No thread reads its halves before the ticket.
///
/// # Safety
/// As for [`load`].
#[inline(always)]
pub(super) unsafe fn store<P: Plain>(place: *mut P, value: P) {
    const { assert!(size_of::<P>() == 8 || size_of::<P>() == 16) };
    // SAFETY: the caller's promise, and the types are of one size.
    unsafe {
        match size_of::<P>() {
            8 => atomic_store_relaxed_64_device(place.cast(), transmute_copy(&value)),
            _ => {
                let words: [u64; 2] = transmute_copy(&value);
                atomic_store_relaxed_64_device(place.cast(), words[0]);
                atomic_store_relaxed_64_device(place.cast::<u64>().add(1), words[1]);
            }
        }
    }
}
