//! The columns of a long transform: the first and the last of its passes over global memory.

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::butterfly::transform;
use super::complex::{Complex, Transformed, complex};
use super::window::sample;
use crate::conv1d::direct::convolve_one;
use crate::number::Real;

/// Points per column, all in one thread's registers.
pub const RADIX: usize = 32;

/// Threads per block.
pub const THREADS: u32 = 128;

/// Roots per column in the table: the powers 1, 2, 3 and 4, 8, … 28. Their products are all of
/// 1..32, each rounded three times.
const ROOTS: usize = 3 + 7;

/// Size of the table of roots in elements.
pub const fn roots_len(columns: usize) -> usize {
    2 * ROOTS * columns
}

/// The table of roots: for each of the powers p, exp(−2πi·p·m/N) for each column m, where N = 32 ·
/// `columns`.
#[cfg(not(target_arch = "nvptx64"))]
pub fn roots(columns: usize) -> Vec<[f64; 2]> {
    let powers = (1..4).chain((4..RADIX).step_by(4));
    powers
        .flat_map(|power| {
            (0..columns).map(move |column| super::shape::root(power * column, RADIX * columns))
        })
        .collect()
}

/// Whether `len` elements are whole transforms of this many columns.
#[cfg_attr(
    target_arch = "nvptx64",
    expect(dead_code, reason = "the host compares a launch with its contract")
)]
const fn are_transforms(len: usize, columns: usize) -> bool {
    columns.is_power_of_two() && columns < 1 << 32 && len.is_multiple_of(2 * RADIX * columns)
}

/// The number of transforms in `len` elements. No division, which could be by zero for LLVM.
#[inline(always)]
fn transforms(len: usize, columns: usize) -> usize {
    (len / (2 * RADIX)) >> columns.trailing_zeros()
}

/// Multiplies point k of column m by its twiddle factor exp(−2πi·k·m/N).
///
/// # Safety
/// `roots` points to the first root of column m in the table for this many columns.
#[inline(always)]
unsafe fn turn<T: Transformed>(
    points: &mut [Complex<T>; RADIX],
    roots: *const Complex<T>,
    columns: usize,
) {
    let mut powers = [Complex::zero(); ROOTS];
    unrolled::<ROOTS>(|i| {
        // SAFETY: the caller's promise.
        powers[i] = unsafe { roots.add(i * columns).read() };
    });
    unrolled::<RADIX>(|k| {
        points[k] = match (k % 4, k / 4) {
            (0, 0) => points[k],
            (low, 0) => points[k] * powers[low - 1],
            (0, high) => points[k] * powers[2 + high],
            (low, high) => points[k] * (powers[low - 1] * powers[2 + high]),
        };
    });
}

/// Loads column points of two windows: samples that are `columns` apart, starting at `first` and
/// `kept` samples later.
#[inline(always)]
fn load<T: Transformed>(
    signal: &[T],
    first: usize,
    kept: usize,
    columns: usize,
) -> [Complex<T>; RADIX] {
    let mut points = [Complex::zero(); RADIX];
    let second = first.wrapping_add(kept);
    let span = (RADIX - 1) * columns;
    // A start before the signal has wrapped to a large number.
    if second < signal.len() && first < second && signal.len() - second > span {
        unrolled::<RADIX>(|r| {
            // SAFETY: `second + span` is inside the signal, and `first` is below `second`.
            points[r] = unsafe {
                complex(
                    *signal.get_unchecked(first + r * columns),
                    *signal.get_unchecked(second + r * columns),
                )
            };
        });
    } else {
        unrolled::<RADIX>(|r| {
            let at = r * columns;
            points[r] = complex(
                sample(signal, first.wrapping_add(at)),
                sample(signal, second.wrapping_add(at)),
            );
        });
    }
    points
}

/// The columns of a launch: for each that is this thread's, the number of its transform and its
/// place there.
#[inline(always)]
fn mine(transforms: usize, columns: usize, mut column: impl FnMut(usize, usize)) {
    let threads = thread::block_dim_x() as usize;
    let step = thread::grid_dim_x() as usize * threads;
    let mut at = thread::block_idx_x() as usize * threads + thread::thread_idx_x() as usize;
    while at < transforms * columns {
        column(at >> columns.trailing_zeros(), at & (columns - 1));
        at += step;
    }
}

macro_rules! kernels {
    ($($t:ident, $blocks:literal blocks: $columns:ident, $outputs:ident;)*) => {$(
        /// Loads pairs of windows and transforms their columns: point k of column m goes to
        /// k · `columns` + m, multiplied by its twiddle factor.
        ///
        /// # Parameters
        /// - `signal`: n samples. `roots`: [`roots`] of `columns`.
        /// - `points`: N = 32 · `columns` complex numbers for each pair of windows. Both are
        ///   aligned to 16 bytes.
        /// - `columns`: a power of two.
        /// - `start`: the first sample of the first window; one before the signal has wrapped.
        /// - `kept`: number of samples between two windows.
        ///
        /// # Launch
        /// One-dimensional, blocks of [`THREADS`]. The grid strides over columns.
        #[kernel(
            instances($t),
            max_threads = 128,
            min_blocks = $blocks,
            require(
                are_transforms(points.len(), columns),
                roots.len() == roots_len(columns),
                roots.is_aligned_to(16),
                points.is_aligned_to(16),
                block.x == THREADS,
                [grid.y, grid.z, block.y, block.z] == [1; 4]
            )
        )]
        pub fn $columns<T: Transformed>(
            signal: &[T],
            roots: &[T],
            mut points: Out<T>,
            columns: usize,
            start: usize,
            kept: usize,
        ) {
            let transforms = transforms(points.len(), columns);
            let all = points.as_mut_ptr().cast::<Complex<T>>();
            mine(transforms, columns, |pair, column| {
                let first = start
                    .wrapping_add(pair.wrapping_mul(2).wrapping_mul(kept))
                    .wrapping_add(column);
                let mut points = load(signal, first, kept, columns);
                transform(&mut points, 0, RADIX);
                // SAFETY: `require` states the tables' lengths; no other thread has this column.
                unsafe {
                    let roots = roots.as_ptr().cast::<Complex<T>>().add(column);
                    turn(&mut points, roots, columns);
                    let to = all.add(pair * RADIX * columns + column);
                    unrolled::<RADIX>(|k| to.add(k * columns).write(points[k]));
                }
            });
        }

        /// Transforms the columns of products back, and writes the outputs that are kept. A column
        /// with a number that is not finite computes its outputs by direct sums: in a transform,
        /// such a number reaches every column.
        ///
        /// # Parameters
        /// - `points`: N = 32 · `columns` complex numbers with swapped parts for each pair of
        ///   windows. `roots`: [`roots`] of `columns`. Both are aligned to 16 bytes.
        /// - `signal`: n samples. `taps`: m taps.
        /// - `output`: the outputs of these windows, or fewer.
        /// - `offset`: see [the convolutions](crate::conv1d).
        /// - `columns`: a power of two. `discarded`: below N, the number of outputs at the start of
        ///   a window that are not written.
        ///
        /// # Launch
        /// One-dimensional, blocks of [`THREADS`]. The grid strides over columns.
        #[kernel(
            instances($t),
            max_threads = 128,
            min_blocks = $blocks,
            require(
                are_transforms(points.len(), columns),
                roots.len() == roots_len(columns),
                roots.is_aligned_to(16),
                points.is_aligned_to(16),
                discarded < RADIX * columns,
                offset.checked_add(output.len()).is_some(),
                block.x == THREADS,
                [grid.y, grid.z, block.y, block.z] == [1; 4]
            )
        )]
        #[allow(clippy::too_many_arguments, reason = "the fallback needs the operands")]
        pub fn $outputs<T: Transformed>(
            points: &[T],
            roots: &[T],
            signal: &[T],
            taps: &[T],
            mut output: Out<T>,
            offset: usize,
            columns: usize,
            discarded: usize,
        ) {
            let transforms = transforms(points.len(), columns);
            let all = points.as_ptr().cast::<Complex<T>>();
            let (output, len) = (output.as_mut_ptr(), output.len());
            let kept = RADIX * columns - discarded;
            mine(transforms, columns, |pair, column| {
                let mut points = [Complex::zero(); RADIX];
                // SAFETY: `require` states the tables' lengths.
                unsafe {
                    let from = all.add(pair * RADIX * columns + column);
                    unrolled::<RADIX>(|k| points[k] = from.add(k * columns).read());
                    let roots = roots.as_ptr().cast::<Complex<T>>().add(column);
                    turn(&mut points, roots, columns);
                }
                transform(&mut points, 0, RADIX);
                let mut magnitude = T::ZERO;
                unrolled::<RADIX>(|r| {
                    magnitude = magnitude + points[r].re.abs() + points[r].im.abs();
                });
                let first = pair * 2 * kept;
                // The parts are swapped. Discarded points have wrapped.
                let store = |place: usize, earlier: T, later: T| {
                    let at = place.wrapping_sub(discarded);
                    if at < kept {
                        let at = first + at;
                        // SAFETY: both are below `len`, and no other thread has this column.
                        unsafe {
                            if at < len {
                                output.add(at).write(earlier);
                            }
                            if at + kept < len {
                                output.add(at + kept).write(later);
                            }
                        }
                    }
                };
                // False for NaN.
                if magnitude <= T::MOST {
                    unrolled::<RADIX>(|r| store(r * columns + column, points[r].im, points[r].re));
                } else {
                    let mut place = column;
                    while place < RADIX * columns {
                        let centre = (first + offset + place).wrapping_sub(discarded);
                        let sum = |centre| convolve_one(signal, taps, centre);
                        if place >= discarded {
                            store(place, sum(centre), sum(centre + kept));
                        }
                        place += columns;
                    }
                }
            });
        }
    )*};
}

kernels! {
    f32, 4 blocks: conv1d_fft_columns, conv1d_fft_outputs;
    f64, 2 blocks: conv1d_fft_columns_wide, conv1d_fft_outputs_wide;
}

#[cfg(test)]
mod tests {
    use core::f64::consts::TAU;

    use super::*;

    #[test]
    fn products_of_the_roots_are_all_twiddle_factors() {
        let columns = 64;
        let roots: Vec<_> = (roots(columns).into_iter())
            .map(|[re, im]| complex(re, im))
            .collect();
        assert_eq!(2 * roots.len(), roots_len(columns));
        for column in [0, 1, 37, 63] {
            let mut points = [complex(1.0, 0.0); RADIX];
            // SAFETY: the column is below the number of columns of the table.
            unsafe { turn(&mut points, roots.as_ptr().add(column), columns) };
            for (k, point) in points.iter().enumerate() {
                let angle = -TAU * (k * column) as f64 / (RADIX * columns) as f64;
                assert!((point.re - angle.cos()).abs() < 1e-15, "{k}, {column}");
                assert!((point.im - angle.sin()).abs() < 1e-15, "{k}, {column}");
            }
        }
    }

    #[test]
    fn a_column_outside_the_signal_is_zero() {
        let signal: Vec<f64> = (0..600).map(f64::from).collect();
        for (first, kept) in [
            (0, 8),
            (600_usize.wrapping_sub(700), 50),
            (300, 290),
            (88, 8),
        ] {
            let points = load(&signal, first, kept, 16);
            for (r, point) in points.iter().enumerate() {
                let at = first.wrapping_add(16 * r);
                let sample = |at: usize| if at < 600 { at as f64 } else { 0.0 };
                assert_eq!(point.re, sample(at));
                assert_eq!(point.im, sample(at.wrapping_add(kept)));
            }
        }
    }
}
