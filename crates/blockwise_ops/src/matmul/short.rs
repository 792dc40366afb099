//! Products with a short inner extent: when the kernel for them is used, and the shape of a block.
//!
//! The constants fit 130 shapes on an H200 (docs/log/2026-11-28-any-address.md): the chosen block
//! takes 1.03 times as long as the fastest, on average.

use kernels::matmul::short::{DEEPEST, DEPTH, HIGHEST, MIDDLE, MOST, THREADS, each, groups, runs};

use super::cost::moved;
use super::vectors::lanes;
use super::{extents, is_one};
use crate::by_width::by_width;
use crate::operation::{Problem, Task};

/// The blocks that a launch should have, for an inner extent up to [`DEPTH`] and above it. With
/// fewer, blocks become narrower, though not below [`WIDE`], and lower, not below [`LOWEST`].
const BLOCKS: [usize; 2] = [120, 200];
/// The fewest rows of a block.
const LOWEST: usize = 32;
/// With more than [`FEW_ROWS`] rows, at most this many threads share a row of C: 512 bytes of
/// 16-byte packs. With fewer rows more threads do, because each row of threads loads B again: 591 ×
/// (23, 6, 3807) takes 118 µs with 32 threads and 76 with 64, f64 2000 × (20, 1, 2000) 280 and,
/// with 128, 178.
const WIDE: usize = 32;
const FEW_ROWS: usize = 100;
/// The bytes of C from which on this kernel is the fastest. In µs, and another kernel's in
/// brackets, of shapes on both sides: 512 × 10 × 512 5.1 (`tiled` 5.6), 64 × 10 × 2000 4.7 (4.8),
/// 138 × 15 × 200 4.5 (4.3), 300 × 2 × 300 4.5 (4.5), f64 256 × 16 × 512 5.0 (`mma` 5.2), 128 × 8 ×
/// 128 4.5 (`tiled` 4.3).
const LARGE: usize = 810_000;
/// The model, in nanoseconds: an empty launch, what it takes more if each multiprocessor has a block,
/// each block of a multiprocessor, each element of the inner extent in a thread's rows in a wave of
/// resident blocks, and each byte from or to memory. A fit to 105 launches of f64 and 33 of f32 on an
/// H200 (docs/log/2026-11-30-addresses.md): half of them take within 4 % of it, nine in ten within
/// 10.
const fn costs(bytes: usize) -> [f64; 5] {
    match bytes {
        4 => [4140.0, 150.0, 415.0, 11.2, 1.6e-4],
        _ => [4145.0, 590.0, 300.0, 7.3, 1.73e-4],
    }
}
/// The bytes of C from which on `mma` is faster for f64, if the inner extent is above [`MIDDLE`]
/// and it and the columns are even. In µs, `mma` and this kernel: 17,000 × 16 × 1000 45.9 and 58.1,
/// 7448 × 16 × 328 12.6 and 14.0, 7448 × 14 × 104 7.8 and 8.3, 1000 × 16 × 104 5.7 and 5.4.
const TENSOR: usize = 6_000_000;

/// Whether the kernel can compute the products.
pub(super) fn is_short(problem: &Problem) -> bool {
    let [rows, inner, cols, batch] = problem.extents;
    let is_counted = [rows, cols, batch].iter().all(|&extent| extent <= MOST);
    inner <= DEEPEST && is_counted && runs(rows, LOWEST, batch) <= MOST
}

/// Whether the kernel is the fastest for a single product with more than a few rows and columns.
pub(super) fn pays(task: &Task<'_>) -> bool {
    let problem = task.problem;
    let [rows, inner, cols] = extents(problem);
    let bytes = problem.ty.bytes();
    let of_c = rows.saturating_mul(cols).saturating_mul(bytes);
    if !is_one(problem) || inner == 0 || !is_short(problem) || of_c < LARGE {
        return false;
    }
    let in_pairs = bytes == 8 && task.in_packs(&[inner, cols]);
    !(in_pairs && inner > MIDDLE && of_c >= TENSOR)
}

/// Nanoseconds of the launch; `None` if the kernel cannot compute it, or has nothing to
/// compute.
pub(super) fn time(task: &Task<'_>) -> Option<f64> {
    let problem = task.problem;
    if !is_short(problem) || problem.extents.contains(&0) {
        return None;
    }
    let ([rows, inner, cols], batch) = (extents(problem), problem.extents[3]);
    let Block { wide, high, grid } = block(problem, code(problem, task.aligned));
    let blocks = grid[0].saturating_mul(grid[1]);
    let at_once = task.device.multiprocessors_to_fill() as usize;
    let of_each = blocks.div_ceil(at_once);
    let resident = if inner <= DEPTH { 4 } else { 3 };
    let (of_each, waves) = (of_each as f64, of_each.div_ceil(resident) as f64);
    let of_thread = (high.min(rows) * wide).div_ceil(THREADS as usize) * (inner + STORES);
    let bytes = problem.ty.bytes();
    let moved = bytes as f64 * moved([rows, inner, cols], batch);
    let [launch, full, block, element, of_byte] = costs(bytes);
    let of_waves = waves * element * of_thread as f64;
    let launch = launch + full * (blocks as f64 / at_once as f64).min(1.0);
    Some(launch + of_each * block + of_waves + moved * of_byte)
}
/// The fixed cost of each row of a thread, such as its store, in elements of the inner extent.
const STORES: usize = 2;

/// The code of the instance: 1 for inner extents above [`DEPTH`], and 2 more if all rows of B and C
/// are whole packs. `aligned` says whether the operands begin at whole packs.
pub(super) fn code(problem: &Problem, aligned: bool) -> u8 {
    let [_, inner, cols] = extents(problem);
    let each = by_width!(problem.ty.bytes(), T => each::<T>(inner));
    let whole = aligned && cols.is_multiple_of(each);
    u8::from(inner > DEPTH) + 2 * u8::from(whole)
}

/// The block of an instance.
#[derive(Debug, PartialEq)]
pub(super) struct Block {
    /// Threads that share a row of C.
    pub(super) wide: usize,
    /// Rows of a block.
    pub(super) high: usize,
    /// Groups of columns, and runs of rows.
    pub(super) grid: [usize; 2],
}

/// The block of the instance with this code.
pub(super) fn block(problem: &Problem, code: u8) -> Block {
    let ([rows, inner, cols, batch], bytes) = (problem.extents, problem.ty.bytes());
    let (each, whole) = (by_width!(bytes, T => each::<T>(inner)), code & 2 != 0);
    let packs = cols.div_ceil(each) + usize::from(!whole);
    let blocks = BLOCKS[usize::from(inner > DEPTH)];
    let few = |wide: usize| packs.div_ceil(wide).saturating_mul(batch) < blocks;
    let widest = THREADS as usize / lanes(bytes);
    let mut wide = packs.clamp(4, widest).next_power_of_two();
    while wide > WIDE && (rows > FEW_ROWS || few(wide)) {
        wide /= 2;
    }
    // Threads that cover a row, idle ones included. Half the width must save more than an eighth.
    let threads = |wide: usize| packs.next_multiple_of(wide);
    if rows > FEW_ROWS && wide == WIDE && 7 * threads(wide) > 8 * threads(wide / 2) {
        wide /= 2;
    }
    let across = groups(cols, each, wide, whole);
    // Higher runs read B less often, but a block begins to store later: 8699 × 1 × 16,404 takes 135
    // µs in runs of 64, 146 of 128; 7704 × 8 × 12,680 92 and 95, 8000 × 12 × 8000 62 of 128 and 65
    // of 256, 600 × 16 × 8000 11.2 and 10.4.
    let mut high = match inner {
        0..=2 if batch == 1 => HIGHEST / 4,
        0..=DEPTH => HIGHEST / 2,
        _ => HIGHEST,
    };
    let is_high = |high: usize| {
        high >= rows.saturating_mul(2) || runs(rows, high, batch).saturating_mul(across) < blocks
    };
    while high > LOWEST && is_high(high) {
        high /= 2;
    }
    let grid = [across, runs(rows, high, batch)];
    Block { wide, high, grid }
}

#[cfg(test)]
mod tests {
    use super::super::with_task;
    use super::*;
    use blockwise::Type;

    fn of(ty: Type, batch: usize, [rows, inner, cols]: [usize; 3]) -> Problem {
        Problem::new(ty, &[rows, inner, cols, batch])
    }

    #[test]
    fn blocks_fill_the_device_and_divide_the_columns() {
        for (ty, batch, extents, aligned, wide, high, grid) in [
            (Type::F32, 1, [744, 8, 7992], true, 32, 128, [63, 6]),
            (Type::F32, 1, [20_000, 8, 24], true, 8, 128, [1, 157]),
            // 32 aligned packs fill a group of 32 threads. Unaligned rows take 33: groups of 16 fit
            // better.
            (Type::F32, 1, [5000, 3, 128], true, 32, 32, [1, 157]),
            (Type::F32, 1, [5000, 3, 128], false, 16, 128, [3, 40]),
            (Type::F32, 1, [8699, 1, 16_404], true, 32, 64, [129, 136]),
            (Type::F32, 1, [600, 16, 8000], true, 32, 256, [125, 3]),
            (Type::F64, 1, [2798, 10, 5407], true, 32, 256, [85, 11]),
            // At most FEW_ROWS rows: more threads share a row of C, unless that leaves too few
            // blocks.
            (Type::F32, 591, [23, 6, 3807], true, 64, 32, [15, 591]),
            (Type::F64, 2000, [20, 1, 2000], true, 128, 32, [8, 2000]),
            (Type::F64, 1, [40, 12, 9001], true, 32, 32, [141, 2]),
            (Type::F64, 13_425, [101, 1, 114], true, 32, 128, [2, 13_425]),
        ] {
            let problem = of(ty, batch, extents);
            let block = block(&problem, code(&problem, aligned));
            assert_eq!(
                block,
                Block { wide, high, grid },
                "{ty} {batch} {extents:?}"
            );
        }
    }

    /// Times are in docs/log/2026-11-28-any-address.md.
    #[test]
    fn it_pays_where_c_is_large_and_no_tensor_core_has_the_inner_extent() {
        for (ty, batch, extents, expected) in [
            (Type::F32, 1, [138, 15, 200], false),
            (Type::F32, 1, [512, 10, 512], true),
            (Type::F32, 1, [512, 17, 512], false),
            (Type::F32, 1, [512, 0, 512], false),
            (Type::F32, 1, [7417, 16, 489], true),
            (Type::F64, 1, [17_679, 16, 367], true),
            (Type::F64, 1, [5280, 11, 104], true),
            (Type::F64, 1, [10_000, 16, 1000], false),
            (Type::F64, 1, [1000, 16, 104], true),
            (Type::F64, 1, [7448, 16, 328], false),
            (Type::F64, 1, [7448, 16, 327], true),
            (Type::F64, 1, [7448, 12, 328], true),
            (Type::F32, 591, [23, 6, 3807], false),
        ] {
            assert_eq!(
                with_task(ty, &of(ty, batch, extents).extents, pays),
                expected,
                "{ty} {batch} {extents:?}"
            );
        }
    }
}
