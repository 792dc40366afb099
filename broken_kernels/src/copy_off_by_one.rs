//! Mistake: the guard against threads past the end has `<=` instead of `<`.
//!
//! Thread `input.len()` reads and writes one element past the end.
//!
//! - On a GPU: usually nothing, because memory is allocated in larger units; if another allocation
//!   follows directly, its first element is corrupted.
//! - On the emulator: an out-of-bounds read of global memory, with the line and the distance to the
//!   nearest allocation.

use cuda_std::prelude::*;

/// output\[i\] = 2 · input\[i\], for one element too many; one-dimensional blocks, at least one
/// thread more than elements.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn copy_off_by_one(input: &[f32], output: *mut f32) {
    let i = thread::index_1d() as usize;
    // The mistake: it must be `<`.
    if i <= input.len() {
        // SAFETY: below the length in all threads but one, which is the mistake.
        unsafe { output.add(i).write(2.0 * *input.get_unchecked(i)) };
    }
}
