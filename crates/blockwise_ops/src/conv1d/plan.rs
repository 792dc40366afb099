//! How the kernels that sum directly are launched.

use std::num::NonZeroU32;

use blockwise::DeviceProperties;
use kernels::conv1d::{self, policy};

use super::{cost, is_whole, lens, mode, of_row};
use crate::by_width::by_width;
use crate::operation::{Plan, Problem, Task};
use crate::{ConvMode, LaunchError};

/// The shorter operand's elements.
fn taps(task: &Task<'_>) -> usize {
    task.problem.extents[0].min(task.problem.extents[1])
}

fn threads(task: &Task<'_>) -> u32 {
    task.options.threads.unwrap_or(conv1d::THREADS)
}

fn outputs(task: &Task<'_>) -> usize {
    task.problem.extents[3]
}

/// Refuses matrices.
pub(super) fn one_row(task: &Task<'_>) -> Result<(), LaunchError> {
    let kernel = task.variant.name;
    match task.problem.rows {
        [1, 1] => Ok(()),
        _ => Err(LaunchError::OneRow { kernel }),
    }
}

/// Shared memory for a block's span of the signal and the halo.
pub(super) fn tiled(task: &Task<'_>) -> Result<Plan, LaunchError> {
    one_row(task)?;
    let elements = (taps(task) as u64 - 1).checked_add(threads(task).into());
    let bytes = elements.and_then(|elements| elements.checked_mul(task.problem.ty.bytes() as u64));
    let bytes = bytes.ok_or(LaunchError::SizeOverflow {
        what: "the span of a block with its halo",
    })?;
    task.plan_1d([0, 0], outputs(task), threads(task), bytes)
}

pub(super) fn direct(task: &Task<'_>) -> Result<Plan, LaunchError> {
    one_row(task)?;
    task.plan_1d([0, 0], outputs(task), threads(task), 0)
}

/// The most outputs of all rows for which threads take them one by one: whole tiles would leave most
/// multiprocessors idle. f32 7 × 4004 × 61 takes 11.8 µs in 14 blocks.
const FEW_OUTPUTS: usize = 100_000;

/// The fewest taps, and tiles of a row, with which rows are as fast by themselves: 64 × 1,000,000 ×
/// 31 of `f32` took 130 µs, joined 134 (H200); of eight taps 143 and 135.
const TAPS_OF_LONG: usize = 25;
const LONG: usize = 1000;

/// Rows that share blocks: the code of this form of [`rows`](conv1d::rows).
pub(super) const NARROW: u8 = 0;
/// A row of the grid for each row: the code of this form.
pub(super) const WIDE: u8 = 1;
/// All rows as one signal: the code of this form.
pub(super) const JOINED: u8 = 2;

/// The form of [`rows`](conv1d::rows). Tiles of a warp can be asked for only where there are any.
pub(super) fn form(task: &Task<'_>) -> u8 {
    let (taps, outputs, rows) = (taps(task), outputs(task), task.problem.all_rows());
    if taps > conv1d::window::MAX_TAPS {
        return NARROW;
    }
    let asked = task.options.count.is_some();
    let span = by_width!(task.problem.ty.bytes(), T => conv1d::window::span::<T>());
    let is_long = taps >= TAPS_OF_LONG && outputs >= LONG * span;
    if may_join(task.problem) && (asked || !is_long && cost::prefers_joined(task)) {
        return JOINED;
    }
    // Few whole tiles of a row are not worth their copies.
    let tiles = if taps <= 16 { 4 } else { 2 };
    let is_small = outputs.saturating_mul(rows) < FEW_OUTPUTS;
    match asked || outputs >= tiles * span && !is_small {
        true => WIDE,
        false => NARROW,
    }
}

/// Binary logarithm of the threads that take a narrow row.
pub(super) fn log_width(problem: &Problem) -> usize {
    // At least two warps' accesses follow each other.
    let outputs = problem.extents[3];
    outputs.clamp(1, 64).next_power_of_two().ilog2() as usize
}

/// Whether the kernel can convolve all rows as one signal.
fn may_join(problem: &Problem) -> bool {
    let ([samples, taps, outputs], [signal_pitch, taps_pitch]) = of_row(problem);
    let all = samples.checked_mul(problem.all_rows() + 2);
    samples == outputs
        && [signal_pitch, taps_pitch] == [samples, 0]
        && (conv1d::rows::LEAST_JOINED.max(taps)..).contains(&samples)
        && taps <= conv1d::window::MAX_TAPS
        && problem.extents[2] < samples
        && all.is_some_and(|all| all < 1 << 32)
}

pub(super) fn rows(task: &Task<'_>) -> Result<Plan, LaunchError> {
    let (taps, outputs, rows) = (taps(task), outputs(task), task.problem.all_rows());
    let threads = task.fixed_block(conv1d::window::THREADS)?;
    let blocks = |outputs: usize, rows: usize| match task.options.count {
        Some(each) => blocks_of_tiles(task.problem, outputs, each),
        None => {
            by_width!(task.problem.ty.bytes(), T => policy::window_blocks::<T>(outputs, taps, rows))
        }
    };
    match form(task) {
        JOINED => return task.plan_blocks([JOINED, 0], blocks(outputs * rows, 1), threads, 0),
        WIDE => return task.plan_layers([WIDE, 0], blocks(outputs, rows), rows, threads, 0),
        _ => {}
    }
    let [along_x, mut along_y] = single_rows(task.problem);
    let multiprocessors = task.device.multiprocessors_to_fill() as usize;
    let resident = RESIDENT * multiprocessors;
    if takes_abreast(task) {
        along_y = along_y.div_ceil(conv1d::rows::ABREAST);
        // Part of a second wave takes as long as a whole one: 500 × 799 × 6 of `f32` takes 8.7 µs
        // in 819 blocks, 7.7 in 650 whose threads have a fifth row (H200).
        if along_x.saturating_mul(along_y) < 2 * resident {
            along_y = along_y.min((resident / along_x.max(1)).max(1));
        }
    }
    // As many as are at work twice.
    let most = 2 * 16 * multiprocessors;
    let along_y = along_y.min(most.div_ceil(along_x.max(1)));
    task.plan_layers([NARROW, 0], along_x, along_y, threads, 0)
}

/// Blocks of [`rows`](conv1d::rows) that are resident on a multiprocessor.
pub(super) const RESIDENT: usize = 5;

/// Blocks along the outputs and along the rows of which a thread has one output.
fn single_rows(problem: &Problem) -> [usize; 2] {
    let log_width = log_width(problem);
    let of_block = 1 << (conv1d::rows::LOG_THREADS - log_width);
    let outputs = problem.extents[3];
    [
        outputs.div_ceil(1 << log_width),
        problem.all_rows().div_ceil(of_block),
    ]
}

/// Whether threads of narrow rows take several of them at a time: where rows share the taps, and
/// blocks of single rows would not all be resident. 1672 × 48 × 1 of `f64` takes 4.9 µs in 209
/// blocks and 6.3 in 836, 61 × 1136 × 8 of `f32` 6.4 in 144 and 5.6 in 558 (H200).
pub(super) fn takes_abreast(task: &Task<'_>) -> bool {
    let [_, [_, of_taps]] = lens(task.problem);
    let [along_x, along_y] = single_rows(task.problem);
    let resident = RESIDENT * task.device.multiprocessors_to_fill() as usize;
    of_taps == 1 && along_x.saturating_mul(along_y) > resident
}

/// Blocks of [`window`](conv1d::window) whose warps have this many tiles each.
fn blocks_of_tiles(problem: &Problem, outputs: usize, each: NonZeroU32) -> usize {
    let span = by_width!(problem.ty.bytes(), T => conv1d::window::span::<T>());
    let tiles = outputs.div_ceil(conv1d::window::WARPS * span);
    tiles.div_ceil(each.get() as usize)
}

pub(super) fn window(task: &Task<'_>) -> Result<Plan, LaunchError> {
    one_row(task)?;
    let (taps, outputs) = (taps(task), outputs(task));
    if taps > conv1d::window::MAX_TAPS {
        return Err(LaunchError::TooManyTaps {
            kernel: task.variant.name,
            taps,
            limit: conv1d::window::MAX_TAPS as u32,
        });
    }
    let blocks = match task.options.count {
        Some(each) => blocks_of_tiles(task.problem, outputs, each),
        None => {
            by_width!(task.problem.ty.bytes(), T => policy::window_blocks::<T>(outputs, taps, 1))
        }
    };
    let threads = task.fixed_block(conv1d::window::THREADS)?;
    task.plan_blocks([0, 0], blocks, threads, 0)
}

pub(super) fn blocked(task: &Task<'_>) -> Result<Plan, LaunchError> {
    one_row(task)?;
    let outputs = outputs(task);
    let blocks = match task.options.count {
        Some(each) => {
            let span = by_width!(task.problem.ty.bytes(), T => conv1d::blocked::span::<T>());
            outputs.div_ceil(span).div_ceil(each.get() as usize)
        }
        None => by_width!(task.problem.ty.bytes(), T => policy::blocked_blocks::<T>(outputs)),
    };
    let threads = task.fixed_block(conv1d::blocked::THREADS)?;
    task.plan_blocks([0, 0], blocks, threads, 0)
}

/// One thread per tap, if the kernel can compute this at all: it has no offset.
pub(super) fn block_per_output(task: &Task<'_>) -> Result<Plan, LaunchError> {
    // Says which types there are.
    task.kernel([0, 0])?;
    one_row(task)?;
    let (kernel, taps) = (task.variant.name, taps(task));
    let given = mode(task.problem);
    if given != ConvMode::Full {
        let supported = ConvMode::Full;
        return Err(LaunchError::UnsupportedMode {
            kernel,
            supported,
            given,
        });
    }
    if !is_whole(task.problem) {
        return Err(LaunchError::NoParts { kernel });
    }
    let limit = most_threads(task.device);
    let threads = match u32::try_from(taps) {
        Ok(threads) if threads <= limit => task.fixed_block(threads)?,
        _ => {
            return Err(LaunchError::TooManyTaps {
                kernel,
                taps,
                limit,
            });
        }
    };
    let shared_bytes = u64::from(threads) * task.problem.ty.bytes() as u64;
    task.plan_blocks([0, 0], outputs(task), threads, shared_bytes)
}

/// The largest block.
pub(super) fn most_threads(properties: &DeviceProperties) -> u32 {
    let along_x = properties.max_block[0];
    properties.max_threads_per_block.min(along_x)
}
