//! Mistake: threads past the last output return before the barrier.
//!
//! "Nothing to compute, so return" is right only for a thread that works alone. Here every thread
//! also loads part of the tile for its neighbours and must arrive at the barrier. The Numba
//! tutorial's kernel starts with this guard.
//!
//! - On a GPU: the slots of the threads that left keep their old contents. With 1000 outputs, 9
//!   taps and blocks of 256, outputs 992 to 999 are wrong; with 300 and 65, the last 44. A barrier
//!   that some threads never reach is undefined; it works today because the hardware stops counting
//!   threads that have exited.
//! - On the emulator: a divergent barrier, with the line of the barrier and the threads that left.
//!
//! The sound twin is `conv1d_tiled_f32`: its guard covers only the sum.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

/// y\[i\] = Σₖ taps\[k\] · signal\[i + offset − k\], wrong for the last outputs; one-dimensional
/// blocks that cover the outputs, dynamic shared memory of `(block + taps − 1) · 4` bytes.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn conv1d_early_return(
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

    let i = first + thread;
    // The mistake.
    if i >= output_len {
        return;
    }

    let start = (first + offset).wrapping_sub(halo);
    let mut slot = thread;
    while slot < threads + halo {
        let at = start.wrapping_add(slot);
        // SAFETY: the slot and the sample exist.
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

    let mut sum = 0.0;
    for (k, &tap) in taps.iter().enumerate() {
        // SAFETY: the slot exists; that it was written is what goes wrong.
        sum = GpuFloat::mul_add(tap, unsafe { tile.add(thread + halo - k).read() }, sum);
    }
    // SAFETY: i is below the output's length.
    unsafe { output.add(i).write(sum) };
}
