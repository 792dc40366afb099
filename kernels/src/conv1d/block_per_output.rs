//! Full convolution with one block for each output and one thread for each tap.
//!
//! y\[i\] = Σₖ taps\[k\] · signal\[i − k\], i in `0..n + m − 1`, zeros outside the signal.
//!
//! The simplest use of shared memory: thread k multiplies its tap with its sample and leaves the
//! product in slot k; thread 0 adds the m slots in the order of the taps. A product whose sample lies
//! outside the signal is written as zero, for every slot is read.
//!
//! - `fill` has two barriers for each output: the sum before comes before these products, and they
//!   come before their sum.
//! - It shows the pattern, not how to be fast: 2·m global reads per output (a warp's are neighbouring,
//!   so coalesced), and m additions by one thread while the others wait. Neighbouring threads write
//!   neighbouring slots: no bank conflicts.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

/// The full convolution of `signal` (n samples) with `taps` (m taps) into `output` (a row of
/// n + m − 1 elements, of which each block owns one at a time).
///
/// # Launch
/// Blocks of m threads, so m is at most the device's limit. The grid strides over the outputs.
#[kernel(
    shared(products = taps.len()),
    require(
        block.x as usize == taps.len(),
        output.rows() == 1,
        signal.len() + taps.len() == output.cols() + 1
    )
)]
pub fn conv1d_block_per_output_f64(
    block: &mut Block,
    products: Shared<[f64]>,
    signal: &[f64],
    taps: &[f64],
    mut output: OutMatrix<f64, 1, 1>,
) {
    let mut products = products.refill();
    for row in block.tiles_y::<1>(output.rows()) {
        for place in block.tiles_x::<1>(output.cols()) {
            let products = products.fill(block, |k| {
                // Below zero it wraps to a huge number, which is outside the signal too.
                let sample = signal.get(place.start().wrapping_sub(k));
                taps.get(k)
                    .zip(sample)
                    .map_or(0.0, |(tap, sample)| tap * sample)
            });
            // Thread 0 owns the element.
            let sum = |_| products.iter().fold(0.0, |sum, product| sum + product);
            output.store(block, row, place, sum);
        }
    }
}
