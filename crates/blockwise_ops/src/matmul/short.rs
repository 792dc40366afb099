//! Products with a short inner extent: how they are launched.

use kernels::matmul::short::{DEPTH, HIGHEST, THREADS, WIDEST, groups};

use super::plan::check;
use super::vectors::lanes;
use super::{extents, is_one};
use crate::LaunchError;
use crate::by_width::by_width;
use crate::limits::blocks_for;
use crate::operation::{Plan, Problem, Task};

/// Blocks among which less is divided: they fill a large device twice.
const BLOCKS: usize = 1056;

/// Whether there is such a kernel for the product.
pub(super) fn is_short(problem: &Problem) -> bool {
    is_one(problem) && extents(problem)[1] <= DEPTH
}

/// Threads that share a row of C, and rows of a block.
pub(super) fn block(problem: &Problem) -> [usize; 2] {
    let ([rows, _, cols], bytes) = (extents(problem), problem.ty.bytes());
    let packs = cols.div_ceil(lanes(bytes)) + 1;
    let wide = packs.next_power_of_two().clamp(4, WIDEST);
    let groups = by_width!(bytes, T => groups::<T>(cols, wide));
    let at_once = THREADS as usize / wide;
    let high = rows.saturating_mul(groups).div_ceil(BLOCKS);
    let high = high.next_power_of_two().clamp(2 * at_once, HIGHEST);
    [wide, high]
}

pub(super) fn plan(task: &Task<'_>) -> Result<Plan, LaunchError> {
    check(task)?;
    let problem = task.problem;
    let ([rows, inner, cols], bytes) = (extents(problem), problem.ty.bytes());
    if !is_short(problem) {
        return Err(LaunchError::ShapeMismatch {
            left_name: "A",
            left: vec![rows, inner],
            right_name: "B",
            right: vec![inner, cols],
            rule: "the kernel `short` is for an inner extent of at most 8",
        });
    }
    let [wide, high] = block(problem);
    let groups = by_width!(bytes, T => groups::<T>(cols, wide));
    let threads = task.fixed_block(THREADS)?;
    let items = groups.saturating_mul(threads as usize);
    let mut plan = task.plan_1d([0, 0], items, threads, 0)?;
    let (cap, most) = (task.options.grid_cap, task.device.max_grid[1]);
    plan.launch.grid[1] = blocks_for(rows.div_ceil(high), 1, cap, most);
    Ok(plan)
}
