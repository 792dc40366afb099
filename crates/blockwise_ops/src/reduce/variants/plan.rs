//! Which reduction is launched, and how.

use blockwise::Type;
use kernels::pack;
use kernels::reduce::addend::PATH;
use kernels::reduce::anchored;
use kernels::reduce::policy::{self, Policy};
use kernels::reduce::wide::{self, BLOCKS, LONGEST};

use super::super::DEFAULT_GRID_CAP;
use super::super::form::{Folding, Form};
use super::super::problem::{Code, Way};
use super::lines;
use crate::LaunchError;
use crate::operation::{Options, Plan, Task};
use crate::oracle::{self, Precision};

/// The most elements per thread, unless a grid cap forces more. An element's path is limited to
/// [`PATH`] additions, of which 1,024 are kept for the levels of a block and the last block's fold:
/// enough for more blocks than any device has memory for.
pub(in crate::reduce) const SHARE: usize = PATH - 1024;

/// From this many blocks per multiprocessor on, a grid is reduced until all of its threads make
/// equally many rounds. A grid of fewer, larger blocks is not: some multiprocessors would get one
/// block more than others.
const EVEN: u32 = 8;
/// The longest operand, in bytes, whose grid is reduced like that. A longer one takes so many
/// rounds that a partial last one costs less than the blocks that are missing: a sum of 2²⁵ `f64`
/// takes 62.4 µs, with equal rounds 62.5 (H200).
const EVEN_BYTES: usize = 64 << 20;

/// Plans a launch on all elements, with one result per block.
pub(in crate::reduce) fn whole(task: &Task<'_>) -> Result<Plan, LaunchError> {
    if Way::of(task.problem) != Way::Whole {
        return Err(LaunchError::NoLines {
            kernel: task.variant.name,
        });
    }
    let (threads, blocks) = shape(task);
    let (form, len) = (form(task), task.problem.extents[0]);
    if form.fold == Folding::Host && form.packs > 0 && len > LONGEST {
        return Err(LaunchError::TooLong {
            kernel: task.variant.name,
            len,
            limit: LONGEST,
        });
    }
    let shared_bytes = match form.fold {
        Folding::Tree => u64::from(threads) * task.problem.ty.bytes() as u64,
        _ if !threads.is_multiple_of(task.device.warp_size) => {
            return Err(LaunchError::NotWholeWarps {
                threads,
                warp_size: task.device.warp_size,
                kernel: task.variant.name,
            });
        }
        _ => 0,
    };
    let which = [Code::of(task.problem).of_kernel(), form.instance()];
    let items = blocks as usize * threads as usize;
    task.plan_1d(which, items, threads, shared_bytes)
}

/// How many results a launch leaves for the host to merge.
pub(in crate::reduce) fn results(plan: &Plan) -> usize {
    match Form::of(plan.kernel).fold {
        Folding::LastBlock => 1,
        _ => plan.launch.grid[0] as usize,
    }
}

/// The form of the kernel for a task of a whole array.
fn form(task: &Task<'_>) -> Form {
    Form::of_task(task, Code::of(task.problem).of_kernel())
}

/// The error of a sum or dot product before rounding, relative to the sum of its terms' magnitudes.
/// It follows from the additions on the longest path of an element: see
/// [`kernels::reduce::addend`]. `None` if the result is exact.
pub(in crate::reduce) fn error(task: &Task<'_>) -> Option<f64> {
    match (Code::of(task.problem).is_sum(), task.problem.ty) {
        (true, Type::F32) => Some(error_of::<f32>(task)),
        (true, Type::F64) => Some(error_of::<f64>(task)),
        _ => None,
    }
}

fn error_of<T: Precision>(task: &Task<'_>) -> f64 {
    if Way::of(task.problem) != Way::Whole {
        return lines::error::<T>(task);
    }
    let form = form(task);
    match (form.fold, form.packs) {
        (Folding::Tree, _) => oracle::gamma(path(task), T::UNIT_ROUNDOFF),
        (Folding::Host, 1..) => oracle::widened::<T>(path(task)).max(anchored::ERROR),
        _ => oracle::widened::<T>(path(task)),
    }
}

/// The longest path, in operations, from an element to its block's result, or to the launch's if
/// the last block folds: one product, the additions of a thread's share, the levels of the block.
fn path(task: &Task<'_>) -> usize {
    let (threads, blocks) = shape(task);
    let (threads, blocks) = (threads.max(1) as usize, blocks.max(1) as usize);
    let share = task.problem.extents[0].div_ceil(threads * blocks);
    let lanes = pack::BYTES / task.problem.ty.bytes();
    // One thread may get more packs than another, as many as are in flight, and at the end it adds
    // the lanes of its packs.
    let form = form(task);
    let in_flight = match form.fold {
        Folding::Host => wide::LONG.max(form.packs.into()),
        _ => form.packs.into(),
    };
    let uneven = lanes * (in_flight + 1);
    // A block has at most 1024 threads: ten levels, by tree or by shuffles; or five, and then its
    // 32 warps in sequence.
    let levels = match (form.fold, form.packs) {
        (Folding::Tree, _) => 10,
        (Folding::Host, 0) => 5 + 31,
        (Folding::Host, _) => uneven + 10,
        (Folding::LastBlock, _) => uneven + 10 + blocks.div_ceil(32) + 5,
    };
    1 + share + levels
}

/// Threads per block and blocks, before any device limit.
fn shape(task: &Task<'_>) -> (u32, u32) {
    let Task {
        problem,
        options,
        device,
        ..
    } = *task;
    let (len, size) = (problem.extents[0], problem.ty.bytes());
    let form = form(task);
    let fill = device.multiprocessors_to_fill();
    let blocks_of = |threads: u32, each: u32, cap: u32| {
        let items = threads.saturating_mul(each);
        crate::limits::blocks_for(len, items, Some(cap), u32::MAX)
    };
    let each = (pack::BYTES / size) as u32 * u32::from(form.packs);
    let (threads, cap, even) = match form.packs {
        0 => (kernels::reduce::THREADS, DEFAULT_GRID_CAP, false),
        _ => {
            let Policy {
                threads,
                blocks_each,
            } = policy::row(len.saturating_mul(size)).policy;
            // Few elements: the smallest block whose grid has at most two blocks a multiprocessor.
            // One warp needs no barrier, but each block leaves the host a result to merge.
            let sizes = std::iter::successors(Some(device.warp_size), |threads| Some(threads * 2));
            let most = fill.saturating_mul(2);
            let few = |&fewer: &u32| fewer >= threads || blocks_of(fewer, each, u32::MAX) <= most;
            let threads = sizes.into_iter().find(few).unwrap_or(threads);
            (
                threads,
                blocks_each.saturating_mul(fill),
                blocks_each >= EVEN && len.saturating_mul(size) <= EVEN_BYTES,
            )
        }
    };
    let (threads, each) = (options.threads.unwrap_or(threads), each.max(1));
    // A sum takes a multiple of the blocks that are resident at once rather than exceed `SHARE`.
    let short = match Code::of(problem).is_sum() {
        true => len.div_ceil(threads.max(1) as usize * SHARE),
        false => 0,
    };
    let short = u32::try_from(short).unwrap_or(u32::MAX).div_ceil(cap);
    let cap = cap.saturating_mul(short.max(1));
    let blocks = match options.grid_cap {
        Some(cap) => blocks_of(threads, each, cap),
        // Equal rounds: a last round of few packs takes as long as a full one.
        None if even => {
            let all = blocks_of(threads, each, u32::MAX);
            all.div_ceil(all.div_ceil(cap).max(1))
        }
        None => blocks_of(threads, each, cap),
    };
    match (form.fold, form.packs) {
        (Folding::Host, 1..) => (threads, blocks.min(BLOCKS)),
        _ => (threads, blocks),
    }
}

/// The policies that `tune` tries: 1024 to 4096 threads per multiprocessor; an H200 has room for
/// 2048.
pub(in crate::reduce) fn policies(task: &Task<'_>) -> Vec<(Options, String)> {
    let all = [128, 256, 512, 1024].into_iter();
    let all = all.flat_map(|threads| [1024, 2048, 4096].map(|resident| (threads, resident)));
    let packs = form(task).packs;
    all.map(|(threads, resident): (u32, u32)| {
        let blocks_each = resident / threads;
        let options = Options {
            threads: Some(threads),
            grid_cap: Some(blocks_each * task.device.multiprocessors_to_fill()),
            ..Options::of(task.variant)
        };
        let described = format!(
            "{threads} threads, {blocks_each} blocks a multiprocessor, {packs} packs in flight"
        );
        (options, described)
    })
    .collect()
}

#[cfg(test)]
mod tests;
