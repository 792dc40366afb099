//! Mistake: four floats are loaded as one vector from an address that is not a multiple of 16
//! bytes.
//!
//! The array is aligned, but the kernel skips its first element, so none of its vectors is.
//!
//! - On a GPU: the misaligned access ends the launch and destroys the context.
//! - On the emulator: a misaligned access, with the line, the address and its size.

use cuda_std::prelude::*;

/// Four floats, loaded as one vector.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Four([f32; 4]);

/// output\[i\] = Σ input\[1 + 4·i + j\] for j in 0..4; one-dimensional blocks, 4 · threads + 1
/// elements.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn load_misaligned(input: &[f32], output: *mut f32) {
    let i = thread::index_1d() as usize;
    if 4 * i + 4 < input.len() {
        // The mistake: `1 +`. SAFETY: the elements exist; that their address fits is what goes wrong.
        let Four([a, b, c, d]) = unsafe { input.as_ptr().add(1 + 4 * i).cast::<Four>().read() };
        // SAFETY: one output per thread.
        unsafe { output.add(i).write(a + b + c + d) };
    }
}
