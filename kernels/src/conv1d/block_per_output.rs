//! Full convolution with one block for each output and one thread for each tap.
//!
//! y\[i\] = Σₖ taps\[k\] · signal\[i − k\], i in `0..n + m − 1`, zeros outside the signal.
//!
//! The simplest use of shared memory: thread k multiplies its tap with its sample and leaves the product in slot k; thread 0 adds
//! the m slots in the order of the taps. A product whose sample lies outside the signal is written as zero, for every slot is read.
//!
//! - Two barriers for each output: the products before the sum, the sum before the next products.
//! - It shows the pattern, not how to be fast: 2·m global reads per output (a warp's are neighbouring, so coalesced), and m additions
//!   by one thread while the others wait. Neighbouring threads write neighbouring slots: no bank conflicts.

use cuda_std::prelude::*;

/// The full convolution of `signal` (n samples) with `taps` (m taps) into `output` (n + m − 1 elements).
///
/// # Launch
/// One-dimensional, a block of m threads, so m is at most the device's limit; dynamic shared memory of `m · 8` bytes. The grid
/// strides over the outputs.
///
/// # Safety
/// The crate's rules; the block has exactly m ≥ 1 threads and the shared memory that size.
#[kernel(require(
    !taps.is_empty(),
    block.x as usize == taps.len(),
    shared_bytes as usize >= taps.len() * size_of::<f64>(),
    signal.len() + taps.len() == output.len() + 1,
    [grid.y, grid.z, block.y, block.z] == [1; 4]
))]
pub unsafe fn conv1d_block_per_output_f64(signal: &[f64], taps: &[f64], output: *mut f64) {
    let products = shared::dynamic_shared_mem::<f64>();
    let k = thread::thread_idx_x() as usize;
    let output_len = signal.len() + taps.len() - 1;

    let mut i = thread::block_idx_x() as usize;
    while i < output_len {
        // Below zero it wraps to a huge number, which is outside the signal too.
        let at = i.wrapping_sub(k);
        // SAFETY: there are as many threads and slots as taps; the sample's index is compared first.
        unsafe {
            let product = if at < signal.len() {
                *taps.get_unchecked(k) * *signal.get_unchecked(at)
            } else {
                0.0
            };
            products.add(k).write(product);
        }
        // Every thread's product comes before thread 0 reads it.
        thread::sync_threads();

        if k == 0 {
            let mut sum = 0.0;
            for slot in 0..taps.len() {
                // SAFETY: below the number of slots, all of which have been written.
                sum += unsafe { products.add(slot).read() };
            }
            // SAFETY: i is below the output's length, and only this block has this i.
            unsafe { output.add(i).write(sum) };
        }
        i += thread::grid_dim_x() as usize;
        // Thread 0's reads come before any thread's next product.
        thread::sync_threads();
    }
}
