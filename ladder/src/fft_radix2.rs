//! The first rung of the transforms: one butterfly of two points per thread, with a barrier after
//! each of the log₂ N steps.
//!
//! - A window has 2048 points and yields 1024 outputs. Two windows are the real and imaginary parts
//!   of one transform.
//! - The first step puts the points into bit-reversed order. Each later one reads two adjacent
//!   points and writes their sum and difference half an array apart: a thread always writes the
//!   same two elements. Two arrays take turns, so a step needs one barrier.
//! - The spectrum is in natural order. The inverse is the transform of numbers with swapped parts.
//!
//! A pair of windows takes 27 barriers, and each of the 24 steps moves every point through shared
//! memory. The two points of a butterfly are adjacent, so lanes read every other number: bank
//! conflicts. [The kernels after it](crate::kernels::conv1d::fft) hold 16 points per thread in registers and does three or four
//! steps there at a time: 4 barriers, a sixth of the traffic, and no conflicts.

#![forbid(unsafe_code)]

use cuda_std::prelude::*;

use crate::kernels::conv1d::direct::convolve_one;

/// Points per transform.
pub const POINTS: usize = 2048;
/// Butterflies, and so threads and outputs, per window.
const HALF: usize = POINTS / 2;
const STEPS: u32 = POINTS.ilog2();

/// Threads per block.
pub const THREADS: u32 = HALF as u32;

/// The most taps whose windows overlap by no more than a half.
pub const MOST_TAPS: usize = HALF + 1;

/// A complex number.
type Complex = [f32; 2];
type Points = [Complex; POINTS];
/// The table of [`roots`], real and imaginary parts in turn.
type Roots = [f32; 2 * HALF];

/// exp(−2πi k/N) for k from 0 to N/2.
#[cfg(not(target_arch = "nvptx64"))]
pub fn roots() -> Vec<[f64; 2]> {
    (0..HALF).map(|k| crate::kernels::conv1d::fft::shape::root(k, POINTS)).collect()
}

#[inline(always)]
fn product(a: Complex, b: Complex) -> Complex {
    [
        a[0].mul_add(b[0], -(a[1] * b[1])),
        a[0].mul_add(b[1], a[1] * b[0]),
    ]
}

/// Element `i` after a step.
#[inline(always)]
fn after(step: u32, before: &Points, roots: &Roots, i: usize) -> Complex {
    if step == 0 {
        return before[((i as u32).reverse_bits() >> (32 - STEPS)) as usize];
    }
    let pair = i % HALF;
    let ([re, im], odd) = (before[2 * pair], before[2 * pair + 1]);
    // The sums of 2^step points so far: the last step takes each root, the first only 1.
    let low = STEPS - step;
    let root = pair & !((1 << low) - 1);
    let odd = product(odd, [roots[2 * root], roots[2 * root + 1]]);
    if i < HALF {
        [re + odd[0], im + odd[1]]
    } else {
        [re - odd[0], im - odd[1]]
    }
}

/// Transforms the points of one array, with the other array as scratch.
#[inline(always)]
fn transform<'a, 'b>(
    block: &mut Block<1024>,
    mut points: Published<'a, Points>,
    mut other: Shared<'b, Points>,
    roots: &Roots,
) -> (Published<'a, Points>, Shared<'b, Points>) {
    for two in 0..STEPS.div_ceil(2) {
        let written = other.write(block, |i| after(2 * two, &points, roots, i));
        // Orders a step's writes before the next step's reads, and its reads before those of the
        // next step's writes that go to the same array.
        let (free, half_way) = block.sync_threads((points, written));
        let written = free.write(block, |i| after(2 * two + 1, &half_way, roots, i));
        // As above, for the next two steps.
        (other, points) = block.sync_threads((half_way, written));
    }
    (points, other)
}

/// y\[i\] = Σₖ taps\[k\] · signal\[i + offset − k\] for every i of `output`, within the bound of
/// [the product's transforms](crate::kernels::conv1d::fft), but for a maximum over both windows.
///
/// # Parameters
/// - `signal`: n samples. `taps`: 1 to [`MOST_TAPS`] taps.
/// - `spectrum`: written by [`conv1d_taps_fft_radix2`]. `roots`: [`roots`].
/// - `offset`: see [the convolutions](crate::kernels::conv1d).
///
/// # Launch
/// One-dimensional, blocks of [`THREADS`]. The grid strides over pairs of windows.
#[kernel(require(
    !taps.is_empty(),
    taps.len() <= MOST_TAPS,
    spectrum.len() == 2 * POINTS,
    roots.len() == 2 * HALF,
    offset.checked_add(output.len()).is_some()
))]
#[allow(clippy::too_many_arguments, reason = "the fallback needs the operands")]
pub fn conv1d_fft_radix2(
    block: &mut Block<1024>,
    mut a: Shared<[[f32; 2]; 2048]>,
    mut b: Shared<[[f32; 2]; 2048]>,
    signal: &[f32],
    taps: &[f32],
    spectrum: &[f32],
    roots: &[f32],
    mut output: Out<f32, Strided<2>>,
    offset: usize,
) {
    // Arrays of known lengths, as `require` states: accesses have no checks.
    let (Ok(spectrum), Ok(roots)) = (<&[f32; 2 * POINTS]>::try_from(spectrum), roots.try_into())
    else {
        return;
    };
    for tile in block.tiles_of(output.len()) {
        // A sample before the signal has wrapped to a large number.
        let sample = |at: usize| signal.get(at).copied().unwrap_or(0.0);
        let start = (tile.start() + offset).wrapping_sub(HALF);
        let written = a.write(block, |i| {
            let at = start.wrapping_add(i);
            [sample(at), sample(at.wrapping_add(HALF))]
        });
        // Orders the samples' writes before their reads.
        let loaded = block.sync_threads(written);
        let (transformed, other) = transform(block, loaded, b, roots);
        let written = other.write(block, |i| {
            let [re, im] = product(transformed[i], [spectrum[2 * i], spectrum[2 * i + 1]]);
            [im, re]
        });
        // Orders the products' writes before their reads, and the reads of the transform before the
        // next writes to its array.
        let (free, products) = block.sync_threads((transformed, written));
        let (windows, other) = transform(block, products, free, roots);
        output.store(block, tile, |i| {
            let at = i - tile.start();
            // The parts are swapped.
            let [im, re] = windows[HALF + at % HALF];
            let y = if at < HALF { re } else { im };
            // An infinity or NaN reaches all points of a transform.
            if y.abs() <= f32::MAX {
                y
            } else {
                convolve_one(signal, taps, i + offset)
            }
        });
        a = other;
        // Orders the reads of the windows before the next writes to their array.
        b = block.sync_threads(windows);
    }
}

/// Writes the taps' spectrum, divided by the number of points, for [`conv1d_fft_radix2`].
///
/// # Parameters
/// - `taps`: 1 to [`MOST_TAPS`] taps. `roots`: [`roots`].
///
/// # Launch
/// One block of [`THREADS`].
#[kernel(require(
    taps.len() <= MOST_TAPS,
    spectrum.len() == 2 * POINTS,
    roots.len() == 2 * HALF,
    [grid.x, grid.y, grid.z] == [1; 3]
))]
pub fn conv1d_taps_fft_radix2(
    block: &mut Block<1024>,
    a: Shared<[[f32; 2]; 2048]>,
    b: Shared<[[f32; 2]; 2048]>,
    taps: &[f32],
    roots: &[f32],
    mut spectrum: Out<f32, Strided<4>>,
) {
    let Ok(roots) = roots.try_into() else {
        return;
    };
    let written = a.write(block, |i| {
        [taps.get(i).copied().unwrap_or(0.0) / POINTS as f32, 0.0]
    });
    // Orders the taps' writes before their reads.
    let loaded = block.sync_threads(written);
    let (transformed, _) = transform(block, loaded, b, roots);
    for tile in block.tiles_of(spectrum.len()) {
        spectrum.store(block, tile, |part| transformed[part / 2 % POINTS][part % 2]);
    }
}
