//! Products with a short inner extent: when the kernel for them is used, and the shape of a block.

use kernels::matmul::short::{DEEPEST, DEPTH, HIGHEST, MOST, THREADS, each, groups, runs};

use super::vectors::lanes;
use super::{extents, is_one};
use crate::by_width::by_width;
use crate::operation::Problem;

/// Blocks take fewer rows until a launch has this many.
const BLOCKS: usize = 120;
const DEEP_BLOCKS: usize = 200;
/// The fewest rows of a block.
const LOWEST: usize = 16;
/// The bytes of C from which on the kernel is the fastest: 398 × 4 × 771 takes 5.2 µs (`naive`
/// 5.9), 300 × 2 × 300 4.8 (4.4), 16 × 8 × 12,568 5.3 (`tiled` 5.0), f64 366 × 1 × 1209 5.4
/// (`naive` 6.4), 128 × 8 × 128 4.6 (`tiled` 4.1).
const LARGE: usize = 810_000;

/// Whether the kernel can compute the products.
pub(super) fn is_short(problem: &Problem) -> bool {
    let [rows, inner, _, batch] = problem.extents;
    inner <= DEEPEST && runs(rows, LOWEST, batch) <= MOST
}

/// Whether the kernel is the fastest for products with more than a few rows and columns.
pub(super) fn pays(problem: &Problem) -> bool {
    let [rows, inner, cols] = extents(problem);
    let of_c = problem.bytes(rows.saturating_mul(cols));
    is_one(problem) && is_short(problem) && inner <= DEPTH && inner > 0 && of_c >= LARGE as u64
}

/// The code of the instance: 1 for inner extents above [`DEPTH`], and 2 more if all rows of B and C
/// are whole packs. `aligned` says whether the operands are.
pub(super) fn code(problem: &Problem, aligned: bool) -> u8 {
    let [_, inner, cols] = extents(problem);
    let each = by_width!(problem.ty.bytes(), T => each::<T>(inner));
    let whole = aligned && cols.is_multiple_of(each);
    u8::from(inner > DEPTH) + 2 * u8::from(whole)
}

/// How the instance of a code computes products.
pub(super) struct Block {
    /// Threads that share a row of C.
    pub(super) wide: usize,
    /// Rows of a block.
    pub(super) high: usize,
    /// Blocks across a row of C, and runs of rows.
    pub(super) grid: [usize; 2],
}

/// The block of an instance.
pub(super) fn block(problem: &Problem, code: u8) -> Block {
    let ([rows, inner, cols, batch], bytes) = (problem.extents, problem.ty.bytes());
    let (each, whole) = (by_width!(bytes, T => each::<T>(inner)), code & 2 != 0);
    let packs = cols.div_ceil(each) + usize::from(!whole);
    let wide = packs.clamp(4, 32).next_power_of_two();
    let across = groups(cols, each, wide, whole);
    let mut high = if inner <= 6 { 64 } else { HIGHEST };
    while high > LOWEST && runs(rows, high, batch).saturating_mul(across) < BLOCKS {
        high /= 2;
    }
    let grid = [across, runs(rows, high, batch)];
    Block { wide, high, grid }
}
