//! Batches of small products: when the kernel for them is used, and how much a block computes.

use kernels::matmul::small::{COLS, MOST, ROWS, THREADS, room, threads};

use super::{extents, few, is_one};
use crate::by_width::by_width;
use crate::operation::Problem;

/// The most bytes of shared memory for whole products, and for a run of rows of A with its B.
const MOST_ROOM: usize = 64 << 10;
const RUN_ROOM: usize = 32 << 10;
/// The longest inner extent, and the most columns, of a product whose rows are divided into runs.
const RUN_INNER: usize = 32;
const RUN_COLS: usize = 256;
/// A block takes more than the least only while this many blocks remain: about two for each
/// multiprocessor of a large device.
const BLOCKS: usize = 256;
/// The longest side of C for which the kernel is the fastest with any inner extent. In f64, larger
/// products go to the tensor cores (docs/log/2026-11-27-batches.md).
const fn most_side(bytes: usize) -> usize {
    match bytes {
        4 => 128,
        _ => 16,
    }
}
/// C is thin if its shorter side is at most this: it fills no tile, however long the other side.
const THIN: usize = 16;
/// The longest sums of a thin product, and of any other, for which the kernel is the fastest beyond
/// [`most_side`].
const THIN_INNER: usize = 32;
const SHORT_INNER: usize = 16;
/// In batches of fewer than [`BLOCKS`] products: the longest sums of a thin f64 product, and of an
/// f32 product of at most [`FEW_OUTPUTS`].
const FEW_INNER: usize = 8;
/// The most outputs of an f32 product for which this kernel is faster than [`few`], if sums are
/// short: 14 of 8 × 8 × 384 take 5.2 µs instead of 8.4, 24 of 28 × 6 × 2 5.8 instead of 7.0.
const FEW_OUTPUTS: usize = 6000;
/// The most rows of a whole batch, of at most eight columns, for which [`few`] is faster where it
/// pays.
const FEW_ROWS: usize = 6000;
/// With fewer threads of a block that own outputs, sums longer than [`SHORT`] take too long.
const BUSY: usize = THREADS as usize / 2;
const SHORT: usize = 64;

fn room_of(of: [usize; 3], bytes: usize, each: usize) -> usize {
    by_width!(bytes, T => room::<T>(of, each))
}

/// Whether the kernel can compute the batch.
pub(super) fn is_small(problem: &Problem) -> bool {
    let ([rows, _, cols], run) = (extents(problem), run(problem));
    (run > 0 || rows == 0) && run.saturating_mul(cols) <= MOST
}

/// Whether the kernel is the fastest for the batch.
pub(super) fn pays(problem: &Problem) -> bool {
    let ([rows, inner, cols], bytes) = (extents(problem), problem.ty.bytes());
    if is_one(problem) || !is_small(problem) {
        return false;
    }
    let batch = problem.extents[3];
    let is_thin = rows.min(cols) <= THIN && inner <= THIN_INNER;
    let fits = rows.max(cols) <= most_side(bytes) || is_thin || inner <= SHORT_INNER;
    // Few blocks leave a part of the device idle: other kernels then divide the sums, or have
    // smaller tiles.
    let blocks = groups(problem).into_iter().product::<usize>();
    let is_filled = match bytes {
        _ if batch >= BLOCKS => true,
        4 if inner <= FEW_INNER && rows.saturating_mul(cols) <= FEW_OUTPUTS => true,
        4 if rows.max(cols) <= most_side(4) && !few::pays(problem) => true,
        4 if cols <= 8 && rows.saturating_mul(batch) <= FEW_ROWS => !few::pays(problem),
        4 => blocks >= BLOCKS / 2 || inner <= SHORT_INNER && rows.max(cols) <= most_side(4),
        _ => is_thin && inner <= FEW_INNER && blocks >= BLOCKS * 3 / 4,
    };
    let busy = most_each(problem).saturating_mul(threads(run(problem), cols));
    fits && is_filled && (busy >= BUSY || inner <= SHORT)
}

/// The blocks: groups of products along x, runs of rows along y.
pub(super) fn groups(problem: &Problem) -> [usize; 2] {
    let [rows, ..] = extents(problem);
    let runs = rows.div_ceil(run(problem).max(1));
    [problem.extents[3].div_ceil(each(problem)), runs]
}

/// Rows of A in a block's shared memory at a time. All rows, if they fit and either the batch has
/// enough products or the product is not divided into runs; else a run, limited by the block's
/// threads, its shared memory and [`BLOCKS`]. 0 if nothing fits.
pub(super) fn run(problem: &Problem) -> usize {
    let (of @ [rows, inner, cols], bytes) = (extents(problem), problem.ty.bytes());
    let batch = problem.extents[3];
    let is_whole = room_of(of, bytes, 1) <= MOST_ROOM;
    let is_short = inner <= RUN_INNER && cols <= RUN_COLS && inner > 0 && cols > 0;
    if !is_short || is_whole && batch >= BLOCKS {
        return if is_whole { rows } else { 0 };
    }
    let for_threads = THREADS as usize / cols.div_ceil(COLS) * ROWS;
    let fit = (RUN_ROOM / bytes).saturating_sub(inner * cols) / inner / ROWS * ROWS;
    let for_blocks = rows.saturating_mul(batch.max(1)).div_ceil(BLOCKS);
    let run = for_threads.min(for_blocks.next_multiple_of(ROWS));
    run.min(fit).min(rows)
}

/// Products per block: limited by its threads, its shared memory and [`BLOCKS`].
pub(super) fn each(problem: &Problem) -> usize {
    let batch = problem.extents[3];
    most_each(problem).min(batch / BLOCKS).max(1)
}

fn most_each(problem: &Problem) -> usize {
    let (of @ [rows, _, cols], bytes) = (extents(problem), problem.ty.bytes());
    if run(problem) < rows {
        return 1;
    }
    let by_threads = THREADS as usize / threads(rows, cols).max(1);
    let by_room = MOST_ROOM / room_of(of, bytes, 1).max(1);
    by_threads.min(by_room).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockwise::Type;

    fn of(ty: Type, batch: usize, extents: [usize; 3]) -> Problem {
        let [rows, inner, cols] = extents;
        Problem::new(ty, &[rows, inner, cols, batch])
    }

    #[test]
    fn a_block_has_as_many_products_as_fit_and_leave_enough_blocks() {
        for (ty, batch, extents, expected) in [
            (Type::F32, 10_000, [16; 3], 16),
            (Type::F32, 2000, [16; 3], 7),
            (Type::F32, 255, [16; 3], 1),
            (Type::F32, 1024, [64; 3], 1),
            (Type::F64, 1024, [64; 3], 1),
            (Type::F64, 1000, [8, 500, 8], 1),
            (Type::F64, 1000, [8, 200, 8], 2),
            (Type::F32, 7, [0; 3], 1),
        ] {
            assert_eq!(each(&of(ty, batch, extents)), expected, "{extents:?}");
        }
    }

    #[test]
    fn runs_of_rows_leave_enough_blocks_and_fit() {
        for (ty, batch, extents, expected) in [
            // All rows: of large batches, and where sums or rows of C are too long for runs.
            (Type::F32, 256, [300, 8, 8], 300),
            (Type::F32, 3, [100, 33, 8], 100),
            (Type::F32, 3, [2000, 33, 8], 0),
            (Type::F32, 3, [2000, 8, 257], 0),
            (Type::F32, 3, [5, 0, 7], 5),
            (Type::F32, 1, [1 << 20, 0, 0], 1 << 20),
            // Runs limited by threads, by shared memory, by the number of blocks, and by the rows.
            (Type::F32, 4, [190_160, 8, 8], 512),
            (Type::F32, 400, [1000, 32, 8], 248),
            (Type::F64, 400, [1000, 32, 8], 120),
            (Type::F32, 3, [1608, 8, 8], 24),
            (Type::F32, 2, [5, 8, 8], 5),
            (Type::F32, 0, [5; 3], 5),
        ] {
            assert_eq!(
                run(&of(ty, batch, extents)),
                expected,
                "{batch} {extents:?}"
            );
        }
    }

    /// Times are in docs/log/2026-11-27-batches.md.
    #[test]
    fn it_is_for_batches_that_fill_no_tile() {
        for (ty, batch, extents, expected) in [
            (Type::F32, 2, [64; 3], true),
            (Type::F32, 1, [64; 3], false),
            (Type::F32, 2, [64, 129, 64], false),
            (Type::F32, 2, [129, 33, 17], false),
            (Type::F32, 4, [19_016, 8, 8], true),
            (Type::F32, 8045, [32, 4, 82], true),
            (Type::F32, 449, [326, 195, 1], false),
            (Type::F32, 382, [8, 496, 8], false),
            (Type::F32, 100, [8, 48, 16], false),
            (Type::F64, 10_000, [16; 3], true),
            (Type::F64, 128, [8; 3], false),
            (Type::F64, 751, [8, 8, 160], true),
            (Type::F64, 1705, [344, 8, 8], true),
            (Type::F64, 1000, [24; 3], false),
            (Type::F32, 3, [1608, 8, 8], false),
            (Type::F32, 1214, [24, 8, 1336], true),
            (Type::F32, 3, [112, 8, 1192], false),
            (Type::F32, 4, [232, 8, 272], false),
            (Type::F32, 4513, [68, 7, 276], true),
            (Type::F32, 46, [339, 4, 245], true),
            (Type::F32, 102, [8, 8, 32], true),
            (Type::F32, 14, [8, 8, 384], true),
            (Type::F32, 24, [28, 6, 2], true),
            (Type::F32, 36, [3, 2, 1847], true),
            (Type::F64, 4944, [18, 13, 99], true),
            (Type::F64, 2003, [131, 24, 7], true),
            (Type::F64, 75, [24, 8, 120], false),
            (Type::F64, 48, [16, 8, 8], false),
            (Type::F64, 75, [274, 1, 5], true),
            (Type::F64, 268, [36, 30, 70], false),
        ] {
            let problem = of(ty, batch, extents);
            assert_eq!(pays(&problem), expected, "{ty} {batch} {extents:?}");
        }
        assert!(is_small(&of(Type::F32, 1, [129, 4, 4])));
    }
}
