//! How the kernels that sum directly are launched.

use std::num::NonZeroU32;

use blockwise::DeviceProperties;
use kernels::conv1d::{self, policy};

use super::{is_whole, mode};
use crate::by_width::by_width;
use crate::operation::{Plan, Problem, Task};
use crate::{ConvMode, LaunchError};

/// The shorter operand's elements.
pub(super) fn taps(task: &Task<'_>) -> usize {
    task.problem.extents[0].min(task.problem.extents[1])
}

fn threads(task: &Task<'_>) -> u32 {
    task.options.threads.unwrap_or(conv1d::THREADS)
}

pub(super) fn outputs(task: &Task<'_>) -> usize {
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

/// Blocks of [`window`](conv1d::window) whose warps have this many tiles each.
pub(super) fn blocks_of_tiles(problem: &Problem, outputs: usize, each: NonZeroU32) -> usize {
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
