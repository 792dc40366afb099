//! Full convolution with one block per output and one thread per tap.
//!
//! y\[i\] = Σₖ taps\[k\] · signal\[i − k\], i in `0..n + m − 1`, zeros outside the signal.
//!
//! The simplest use of shared memory: thread k multiplies its tap by its sample and writes the
//! product to slot k; thread 0 adds the m slots in tap order. A product whose sample is outside the
//! signal is written as zero, because every slot is read.
//!
//! - `fill` has two barriers per output: the first orders the previous sum's reads before these
//!   products, the second these products before their sum.
//! - It shows the pattern, not performance: 2·m global reads per output (coalesced), and m
//!   additions by one thread while the others wait. Adjacent threads write adjacent slots: no bank
//!   conflicts.

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
                // Negative indices wrap to huge numbers, which are outside the signal too.
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
