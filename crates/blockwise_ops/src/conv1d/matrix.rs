//! Sums of each row of a matrix: the form of [`rows`], its launch, and how long it takes.

use kernels::conv1d::{policy, rows, window};

use super::cost::{Size, has_rows, memory};
use super::plan::{blocks_of_tiles, outputs, taps};
use super::{lens, of_row};
use crate::LaunchError;
use crate::by_width::by_width;
use crate::operation::{Plan, Problem, Task};

/// The most outputs of all rows for which threads take them one by one rather than in wide tiles,
/// which would leave most multiprocessors idle. f32 7 × 4004 × 61 takes 11.8 µs in 14 blocks.
const FEW_OUTPUTS: usize = 100_000;

/// The fewest taps, and tiles of a row, from which rows stay wide. 64 × 1,000,000 × 31 of `f32`
/// takes 130 µs wide and 134 joined in one run, 136 and 135 in another; with eight taps 143 wide and
/// 135 joined; f64 with 64 taps 368 wide and 376 joined (H200).
const TAPS_OF_LONG: usize = 25;
const LONG: usize = 1000;

/// Rows that share blocks: the code of this form of [`rows`].
pub(super) const NARROW: u8 = 0;
/// A row of the grid for each row: the code of this form.
pub(super) const WIDE: u8 = 1;
/// All rows as one signal: the code of this form.
pub(super) const JOINED: u8 = 2;

/// The form of [`rows`]. Where tiles per warp are asked for, rows are joined or wide: narrow rows
/// have no tiles.
pub(super) fn form(task: &Task<'_>) -> u8 {
    let (taps, outputs, rows) = (taps(task), outputs(task), task.problem.all_rows());
    if taps > window::MAX_TAPS {
        return NARROW;
    }
    let asked = task.options.count.is_some();
    let span = by_width!(task.problem.ty.bytes(), T => window::span::<T>());
    let is_long = taps >= TAPS_OF_LONG && outputs >= LONG * span;
    if may_join(task.problem) && (asked || !is_long && prefers_joined(task)) {
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
    samples == outputs
        && [signal_pitch, taps_pitch] == [samples, 0]
        && (rows::LEAST_JOINED.max(taps)..).contains(&samples)
        && taps <= window::MAX_TAPS
        && problem.extents[2] < taps
        && samples < rows::MOST_OF_ROW
        && samples.saturating_mul(problem.all_rows()) < rows::MOST_JOINED
}

/// Plans a launch in the form that is taken.
pub(super) fn plan(task: &Task<'_>) -> Result<Plan, LaunchError> {
    let (taps, outputs, rows) = (taps(task), outputs(task), task.problem.all_rows());
    let threads = task.fixed_block(window::THREADS)?;
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
        along_y = along_y.div_ceil(rows::ABREAST);
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

/// Blocks of [`rows`] that are resident on a multiprocessor.
const RESIDENT: usize = 5;

/// Blocks along the outputs and along the rows, if each thread computes one output.
fn single_rows(problem: &Problem) -> [usize; 2] {
    let log_width = log_width(problem);
    let of_block = 1 << (rows::LOG_THREADS - log_width);
    let outputs = problem.extents[3];
    [
        outputs.div_ceil(1 << log_width),
        problem.all_rows().div_ceil(of_block),
    ]
}

/// Whether threads of narrow rows take several of them at a time: where rows share the taps, and
/// blocks of single rows would not all be resident. 1672 × 48 × 1 of `f64` takes 4.9 µs in 209
/// blocks and 6.3 in 836, 61 × 1136 × 8 of `f32` 6.4 in 144 and 5.6 in 558 (H200).
fn takes_abreast(task: &Task<'_>) -> bool {
    let [_, [_, of_taps]] = lens(task.problem);
    let [along_x, along_y] = single_rows(task.problem);
    let resident = RESIDENT * task.device.multiprocessors_to_fill() as usize;
    of_taps == 1 && along_x.saturating_mul(along_y) > resident
}

/// The constants of the models of [`rows`], for one type. Those of joined rows and of rows abreast
/// are fitted to 456 shapes (docs/log/2026-11-30-rows.md), the taps of the others are from a few
/// (2026-11-27-rows.md).
struct Rows {
    /// One tap of an output in a whole tile, where rows are wide.
    wide: f64,
    /// Narrow rows.
    narrow: Narrow,
    /// The same, abreast: a tap is loaded for several outputs.
    abreast: Narrow,
    /// Joined rows: a launch, one tap of a warp's tile, a round of outputs that are written anew,
    /// and one tap of those.
    joined: [f64; 4],
}

/// Outputs one by one.
#[derive(Clone, Copy)]
struct Narrow {
    launch: f64,
    /// An output, and each of its taps, if all multiprocessors are busy.
    output: f64,
    tap: f64,
    /// The latency of one tap in one thread.
    lone: f64,
}

const ROWS_F32: Rows = Rows {
    wide: 0.06e-3,
    narrow: Narrow {
        launch: 4600.0,
        output: 9.6e-3,
        tap: 0.34e-3,
        lone: 21.0,
    },
    abreast: Narrow {
        launch: 5530.0,
        output: 5.5e-3,
        tap: 0.2e-3,
        lone: 15.0,
    },
    joined: [5130.0, 38.5, 370.0, 22.0],
};
const ROWS_F64: Rows = Rows {
    wide: 0.11e-3,
    narrow: Narrow {
        launch: 4600.0,
        output: 8.8e-3,
        tap: 0.6e-3,
        lone: 26.0,
    },
    abreast: Narrow {
        launch: 5690.0,
        output: 5.9e-3,
        tap: 0.4e-3,
        lone: 52.0,
    },
    joined: [5170.0, 19.3, 235.0, 43.0],
};

fn costs_of_rows(problem: &Problem) -> &'static Rows {
    match problem.ty.bytes() {
        4 => &ROWS_F32,
        _ => &ROWS_F64,
    }
}

/// Sums of each row of a matrix, in the form that is taken.
pub(super) fn time(task: &Task<'_>) -> Option<f64> {
    if !has_rows(task) {
        return None;
    }
    let size = Size::of(task);
    let costs = costs_of_rows(task.problem);
    Some(match form(task) {
        JOINED => joined(task.problem, size),
        WIDE => {
            let span = by_width!(task.problem.ty.bytes(), T => window::span::<T>());
            let whole = size.outputs.saturating_sub(size.taps) / span * span;
            let rest = Size {
                outputs: size.outputs - whole,
                ..size
            };
            let whole =
                size.taps as f64 * whole as f64 * size.rows as f64 * costs.wide * size.share();
            let rest = costs.narrow.time(rest) - costs.narrow.launch;
            let memory = memory(task.problem, size);
            costs.narrow.launch + (whole + rest).max(memory)
        }
        _ if takes_abreast(task) => costs.abreast.time(size),
        _ => costs.narrow.time(size),
    })
}

impl Narrow {
    fn time(self, size: Size) -> f64 {
        let taps = size.taps as f64;
        let outputs = size.of_all() * size.share();
        self.launch + outputs * (self.output + self.tap * taps) + self.lone * taps
    }
}

/// Rows as one signal.
fn joined(problem: &Problem, size: Size) -> f64 {
    let [launch, tap, round, tap_of_round] = costs_of_rows(problem).joined;
    let span = by_width!(problem.ty.bytes(), T => window::span::<T>());
    let taps = size.taps as f64;
    // A warp's lanes take the outputs that are written anew in rounds.
    let anew = (span * (size.taps - 1)).div_ceil(32 * size.outputs) as f64;
    let warps = (RESIDENT * window::WARPS) as f64;
    let tiles = (size.blocks_of_all(span) / warps).max(1.0);
    let each = tap * taps + anew * (round + tap_of_round * taps);
    launch + tiles * each + memory(problem, size)
}

/// Whether joined rows are faster than one by one.
fn prefers_joined(task: &Task<'_>) -> bool {
    let (size, costs) = (Size::of(task), costs_of_rows(task.problem));
    let narrow = costs.narrow.time(size).min(costs.abreast.time(size));
    joined(task.problem, size) < narrow
}
