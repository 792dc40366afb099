//! Mistake: the loop that loads tile and halo has `<=` instead of `<`.
//!
//! A block of T outputs and m taps needs T + m − 1 samples. The loop loads T + m: one slot more
//! than the launch allocates.
//!
//! - On a GPU: usually nothing. Shared memory is allocated in larger units, so the write hits
//!   padding. With another block size or another array there is no padding: then the write corrupts
//!   that array, or the kernel fails.
//! - On the emulator: an out-of-bounds write to shared memory, with the line of the store and the
//!   thread.
//!
//! The sound twin is `conv1d_tiled_f32`.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

/// y\[i\] = Σₖ taps\[k\] · signal\[i + offset − k\], with one write past the shared array;
/// one-dimensional blocks that cover the outputs, dynamic shared memory of `(block + taps − 1) · 4`
/// bytes.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn conv1d_halo_off_by_one(
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

    let start = (first + offset).wrapping_sub(halo);
    let mut slot = thread;
    // The mistake: `<`.
    while slot <= threads + halo {
        let at = start.wrapping_add(slot);
        // SAFETY: the sample exists; the slot does not always, which is the mistake.
        unsafe {
            let sample = if at < signal.len() {
                *signal.get_unchecked(at)
            } else {
                0.0
            };
            tile.add(slot).write(sample);
        }
        slot += threads;
    }
    thread::sync_threads();

    let i = first + thread;
    if i < output_len {
        let mut sum = 0.0;
        for (k, &tap) in taps.iter().enumerate() {
            // SAFETY: the slot exists and was written.
            sum = GpuFloat::mul_add(tap, unsafe { tile.add(thread + halo - k).read() }, sum);
        }
        // SAFETY: i is below the output's length.
        unsafe { output.add(i).write(sum) };
    }
}
