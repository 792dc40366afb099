//! Mistake: each thread loads one sample, and no thread loads the halo.
//!
//! A block of T outputs and m taps needs T + m − 1 samples; T threads with one load each load only
//! T.
//!
//! - On a GPU: the last outputs of every block read slots that no thread has written, and get what
//!   an earlier block left there, often the correct neighbouring samples.
//! - On the emulator: a use of uninitialised shared memory, with the line of the read.
//!
//! The sound twin is `conv1d_tiled_f32`, whose threads load in a loop.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

/// y\[i\] = Σₖ taps\[k\] · signal\[i + offset − k\], but for the halo; one-dimensional blocks that
/// cover the outputs, dynamic shared memory of `(block + taps − 1) · 4` bytes.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn conv1d_halo_not_loaded(
    signal: &[f32],
    taps: &[f32],
    output: *mut f32,
    output_len: usize,
    offset: usize,
) {
    let tile = shared::dynamic_shared_mem::<f32>();
    let threads = thread::block_dim_x() as usize;
    let thread = thread::thread_idx_x() as usize;
    let halo = taps.len() - 1;
    let first = thread::block_idx_x() as usize * threads;
    let at = (first + thread + offset).wrapping_sub(halo);
    // SAFETY: the slot and the sample exist.
    unsafe {
        let sample = if at < signal.len() {
            *signal.get_unchecked(at)
        } else {
            0.0
        };
        // The mistake: no loop over the slots.
        tile.add(thread).write(sample);
    }
    thread::sync_threads();

    let i = first + thread;
    if i < output_len {
        let mut sum = 0.0;
        for (k, &tap) in taps.iter().enumerate() {
            // SAFETY: the slot exists. No thread may have written it: here the mistake shows.
            sum = GpuFloat::mul_add(tap, unsafe { tile.add(thread + halo - k).read() }, sum);
        }
        // SAFETY: i is below the output's length.
        unsafe { output.add(i).write(sum) };
    }
}
