//! Products with a short inner extent: when the kernel for them is used, and the shape of a block.

use kernels::matmul::short::{DEPTH, HIGHEST, WIDEST, groups};

use super::vectors::lanes;
use super::{extents, is_one};
use crate::by_width::by_width;
use crate::operation::Problem;

/// Blocks take fewer rows until a launch has this many.
const BLOCKS: usize = 120;
/// The bytes of C from which on the kernel is the fastest: 398 × 4 × 771 takes 5.2 µs (`naive`
/// 5.9), 300 × 2 × 300 4.8 (4.4), 16 × 8 × 12,568 5.3 (`tiled` 5.0), f64 366 × 1 × 1209 5.4
/// (`naive` 6.4), 128 × 8 × 128 4.6 (`tiled` 4.1).
const LARGE: usize = 810_000;

/// Whether the kernel can compute the product.
pub(super) fn is_short(problem: &Problem) -> bool {
    is_one(problem) && extents(problem)[1] <= DEPTH
}

/// Whether the kernel is the fastest for a product with more than a few rows and columns.
pub(super) fn pays(problem: &Problem) -> bool {
    let [rows, inner, cols] = extents(problem);
    let of_c = problem.bytes(rows.saturating_mul(cols));
    is_short(problem) && inner > 0 && of_c >= LARGE as u64
}

/// Threads that share a row of C, and rows of a block.
pub(super) fn block(problem: &Problem) -> [usize; 2] {
    let ([rows, inner, cols], bytes) = (extents(problem), problem.ty.bytes());
    let packs = cols.div_ceil(lanes(bytes)) + 1;
    let wide = packs.clamp(4, WIDEST).next_power_of_two();
    let groups = by_width!(bytes, T => groups::<T>(cols, wide));
    // B is read again for each run of rows: 7704 × 8 × 12,680 takes 96 µs in runs of 128, 104 of
    // 64; 1727 × 1 × 2863 10.4 and 9.8.
    let mut high = if inner <= 6 { HIGHEST / 2 } else { HIGHEST };
    while high > 32 && rows.div_ceil(high).saturating_mul(groups) < BLOCKS {
        high /= 2;
    }
    [wide, high]
}
