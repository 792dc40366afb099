//! The columns of a long transform: the first of its passes over global memory.

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::butterfly::{Of, transform};
use super::complex::{Complex, Transformed, complex, read_number, sample, write_number};
use super::probes;
use super::quiet::{self, Mark, warp_of};
use super::shape::{ROWS, marks_len};
use crate::conv1d::matrix::{Pairs, row_of};

/// Points per column, all in one thread's registers.
pub const RADIX: usize = ROWS;

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

/// The most columns: those of the largest shape. 32 bits count the points of a window.
const MOST_COLUMNS: usize = <super::shape::Points16384 as super::shape::Shape>::POINTS;

/// Whether `len` elements are whole transforms of this many columns, and no more of them than there
/// are marks for.
#[cfg_attr(
    target_arch = "nvptx64",
    expect(dead_code, reason = "the host compares a launch with its contract")
)]
const fn are_transforms(len: usize, columns: usize, marks: usize) -> bool {
    columns.is_power_of_two()
        && columns >= 32
        && columns <= MOST_COLUMNS
        && len.is_multiple_of(2 * RADIX * columns)
        && marks >= marks_len(columns) * (len / (2 * RADIX * columns))
}

/// The number of transforms in `len` elements. No division, which could be by zero for LLVM.
#[inline(always)]
fn transforms(len: usize, columns: usize) -> usize {
    (len / (2 * RADIX)) >> columns.trailing_zeros()
}

/// A column's roots in the table.
pub(super) type Powers<T> = [Complex<T>; ROOTS];

/// Loads the roots of a column.
///
/// # Safety
/// `roots` points to the first root of the column in the table for this many columns.
#[inline(always)]
pub(super) unsafe fn powers<T: Transformed>(roots: *const Complex<T>, columns: usize) -> Powers<T> {
    let mut powers = [Complex::zero(); ROOTS];
    unrolled::<ROOTS>(|i| {
        // SAFETY: the caller's promise.
        powers[i] = unsafe { read_number(roots.add(i * columns)) };
    });
    powers
}

/// Multiplies point k of column m by its twiddle factor exp(−2πi·k·m/N).
#[inline(always)]
pub(super) fn turn<T: Transformed>(points: &mut [Complex<T>; RADIX], powers: &Powers<T>) {
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

/// Calls `of_warp` for each group of 32 columns that this warp computes, with the number of the
/// transform and the group's first column in it. `columns` is a multiple of 32.
#[inline(always)]
fn mine(transforms: usize, columns: usize, mut of_warp: impl FnMut(usize, usize)) {
    let threads = thread::block_dim_x() as usize;
    let step = thread::grid_dim_x() as usize * threads;
    let warp = warp_of(thread::thread_idx_x() as usize) as usize;
    let mut at = thread::block_idx_x() as usize * threads + 32 * warp;
    while at < transforms * columns {
        of_warp(at >> columns.trailing_zeros(), at & (columns - 1));
        at += step;
    }
}

/// Reads column points of products, and transforms them back, with swapped parts.
///
/// # Safety
/// `points` points to the first point of the column.
#[inline(always)]
pub(super) unsafe fn transform_back<T: Transformed>(
    points: *const Complex<T>,
    powers: &Powers<T>,
    columns: usize,
) -> [Complex<T>; RADIX] {
    let mut column = [Complex::zero(); RADIX];
    // SAFETY: the caller's promise.
    unrolled::<RADIX>(|k| column[k] = unsafe { read_number(points.add(k * columns)) });
    turn(&mut column, powers);
    transform::<_, Of<RADIX>, _>(&mut column, 0);
    column
}

/// Transforms column points and writes them, multiplied by their twiddle factors.
///
/// # Safety
/// `points` points to the first point of the column, which no other thread uses, `roots` to its
/// first root.
#[inline(always)]
pub(super) unsafe fn transform_to<T: Transformed>(
    points: *mut Complex<T>,
    roots: *const Complex<T>,
    columns: usize,
    mut column: [Complex<T>; RADIX],
) {
    // SAFETY: the caller's promise.
    unsafe {
        turn(&mut column, &powers(roots, columns));
        unrolled::<RADIX>(|k| write_number(points.add(k * columns), column[k]));
    }
}

macro_rules! kernels {
    ($($t:ident, $blocks:literal blocks: $columns:ident;)*) => {$(
        /// Loads pairs of windows, or the taps, and transforms their columns: point k of column m
        /// goes to k · `columns` + m, multiplied by its twiddle factor. Writes the marks
        /// (`quiet.rs`) of the loaded samples.
        ///
        /// # Parameters
        /// - `signal`: rows of n samples. `taps`: m taps. `roots`: [`roots`] of `columns`.
        /// - `points`: N = 32 · `columns` complex numbers for each pair of windows, and as many for
        ///   the taps if there is more room. Both are aligned to 16 bytes.
        /// - `marks`: [`marks_len`] for each of these transforms.
        /// - `columns`: a power of two, at least 32.
        /// - `start`: the first sample of a row's first window; one before the row has wrapped.
        /// - `kept`: number of samples between two windows.
        /// - `each`: pairs of windows of a row. They are counted through all rows: this launch has
        ///   `pairs` of them, after the first `before`.
        /// - `shift`: number of places by which the taps are delayed.
        /// - `samples`: n. `pitch`: the distance between rows.
        ///
        /// # Launch
        /// One-dimensional, blocks of [`THREADS`]. The grid strides over columns.
        #[kernel(
            instances($t),
            max_threads = 128,
            min_blocks = $blocks,
            require(
                are_transforms(points.len(), columns, marks.len()),
                roots.len() == roots_len(columns),
                roots.is_aligned_to(16),
                points.is_aligned_to(16),
                shift < 32,
                crate::conv1d::matrix::have_pairs(
                    [before, pairs, each],
                    [[signal.len(), samples, pitch]]
                ),
                block.x == THREADS,
                [grid.y, grid.z, block.y, block.z] == [1; 4]
            )
        )]
        #[allow(clippy::too_many_arguments, reason = "the taps come along")]
        pub fn $columns<T: Transformed>(
            signal: &[T],
            taps: &[T],
            roots: &[T],
            mut points: Out<T>,
            mut marks: Out<u32>,
            columns: usize,
            start: usize,
            kept: usize,
            before: usize,
            pairs: usize,
            each: usize,
            shift: usize,
            samples: usize,
            pitch: usize,
        ) {
            let transforms = transforms(points.len(), columns);
            let all = points.as_mut_ptr().cast::<Complex<T>>();
            let marks = marks.as_mut_ptr().cast::<Mark>();
            let lane = thread::thread_idx_x() % 32;
            mine(transforms, columns, |pair, columns_from| {
                let (of, first, kept) = match pair < pairs {
                    // SAFETY: `require` states that there is this row.
                    true => unsafe {
                        let (row, number) = Pairs { before, each }.row_of(pair);
                        let first = start.wrapping_add(number.wrapping_mul(2).wrapping_mul(kept));
                        (row_of(signal, row, samples, pitch), first, kept)
                    },
                    // There is no second window.
                    false => (taps, 0_usize.wrapping_sub(shift), usize::MAX / 2),
                };
                let column = columns_from + lane as usize;
                let mut points = load(of, first.wrapping_add(column), kept, columns);
                // SAFETY: `require` states the lengths; no other thread has this column, and no
                // other warp this mark.
                unsafe {
                    let loudest = quiet::loudest(&points);
                    transform::<_, Of<RADIX>, _>(&mut points, 0);
                    // A NaN in a column reaches its sum.
                    let sum = points[0].re.abs() + points[0].im.abs();
                    let nan = if sum <= T::MOST { 0 } else { u32::MAX };
                    let roots = roots.as_ptr().cast::<Complex<T>>().add(column);
                    let to = all.add(pair * RADIX * columns + column);
                    transform_to(to, roots, columns, points);
                    let mut mark = [quiet::most(nan | loudest), u32::MAX];
                    let mut warp = columns_from / 32;
                    while pair < pairs && warp < probes::WARPS {
                        let starts = [first, first.wrapping_add(kept)];
                        let lane = [warp as u32, lane];
                        let quietest =
                            probes::quietest(of, taps.len(), RADIX * columns, starts, lane);
                        mark[1] = quietest.min(mark[1]);
                        warp += columns / 32;
                    }
                    let number = (pair * columns + columns_from) / 32;
                    if lane == 0 {
                        marks.add(number).write(mark);
                    }
                }
            });
        }
    )*};
}

kernels! {
    f32, 4 blocks: conv1d_fft_columns;
    f64, 2 blocks: conv1d_fft_columns_wide;
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
            let powers = unsafe { powers(roots.as_ptr().add(column), columns) };
            turn(&mut points, &powers);
            for (k, point) in points.iter().enumerate() {
                let angle = -TAU * (k * column) as f64 / (RADIX * columns) as f64;
                assert!((point.re - angle.cos()).abs() < 1e-15, "{k}, {column}");
                assert!((point.im - angle.sin()).abs() < 1e-15, "{k}, {column}");
            }
        }
    }

    #[test]
    fn no_more_columns_than_32_bits_count_points_of() {
        let of = |columns: usize| are_transforms(2 * RADIX * columns, columns, 1 << 40);
        assert!(of(32) && of(MOST_COLUMNS));
        assert!(!of(16) && !of(48) && !of(2 * MOST_COLUMNS) && !of(1 << 28));
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
