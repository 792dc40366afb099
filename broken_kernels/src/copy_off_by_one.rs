//! Mistake: the guard of the last thread has `<=` where `<` belongs.
//!
//! Thread n reads and writes the element behind the last one.
//!
//! - On a GPU: mostly nothing, for memory is handed out in larger pieces; with another allocation right behind, its first element is
//!   damaged.
//! - On the emulator: a read out of bounds of global memory, with the line and the distance to the nearest allocation.

use cuda_std::prelude::*;

/// output\[i\] = 2 · input\[i\], and one element too many; blocks of one dimension, at least one thread more than elements.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn copy_off_by_one(input: &[f32], output: *mut f32) {
    let i = thread::index_1d() as usize;
    // The mistake: `<`.
    if i <= input.len() {
        // SAFETY: below the length for all threads but one, which is what goes wrong.
        unsafe { output.add(i).write(2.0 * *input.get_unchecked(i)) };
    }
}
