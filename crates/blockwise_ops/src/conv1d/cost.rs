//! How long a launch of each kernel takes.
//!
//! The constants are nanoseconds on an H200 (132 multiprocessors, driver 580), fitted to sweeps of
//! 500 sizes of `f32` and 732 of `f64` (docs/log/2026-11-23-choices.md). A device with another
//! number of multiprocessors divides the blocks among its own.

use kernels::conv1d::fft::shape::discarded;
use kernels::conv1d::policy::FFT_FROM;
use kernels::conv1d::{THREADS, blocked as in_blocks, window as in_windows};

use super::plan::most_threads;
use super::transform;
use super::{is_whole, lens, mode};
use crate::ConvMode;
use crate::by_width::by_width;
use crate::operation::{Problem, Task};

/// Time to allocate and copy the twiddle factors: 31 to 65 µs of the host.
const PREPARE: f64 = 40_000.0;

/// Taps and outputs of a convolution, of each of its rows, and the multiprocessors that share it.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) taps: usize,
    pub(super) outputs: usize,
    pub(super) rows: usize,
    pub(super) multiprocessors: f64,
}

impl Size {
    pub(super) fn of(task: &Task<'_>) -> Self {
        let [samples, taps, _, outputs] = task.problem.extents;
        Self {
            taps: samples.min(taps),
            outputs,
            rows: task.problem.all_rows(),
            multiprocessors: task.device.multiprocessors_to_fill().into(),
        }
    }

    /// The time of what an H200 does in 1, if all multiprocessors are busy.
    pub(super) fn share(&self) -> f64 {
        H200 / self.multiprocessors
    }

    /// Outputs of all rows.
    pub(super) fn of_all(&self) -> f64 {
        self.rows as f64 * self.outputs as f64
    }

    /// Blocks of this many outputs of all rows per multiprocessor.
    pub(super) fn blocks_of_all(&self, outputs: usize) -> f64 {
        (self.of_all() / outputs as f64).ceil() / self.multiprocessors
    }

    /// Blocks of this many outputs per multiprocessor.
    fn blocks(&self, outputs: usize) -> f64 {
        (self.rows * self.outputs.div_ceil(outputs)) as f64 / self.multiprocessors
    }
}

/// A launch of blocks of [`THREADS`] outputs.
struct Spread {
    /// The launch, with its first loads and last stores.
    launch: f64,
    /// An output's load and store.
    output: f64,
    /// One tap of a lone block.
    lone: f64,
    /// One tap for each block of a full multiprocessor.
    each: f64,
}

impl Spread {
    fn time(&self, size: Size) -> f64 {
        let tap = (self.each * size.blocks(THREADS as usize).ceil()).max(self.lone);
        self.launch + self.output * size.outputs as f64 + tap * size.taps as f64
    }
}

/// The constants of the models of kernels without FFTs, for one type. A kernel without constants is
/// never chosen: others are as fast within the models' error.
struct Costs {
    /// [`tiled`](kernels::conv1d::tiled).
    tiled: Spread,
    /// [`direct`](kernels::conv1d::direct), for a few taps.
    direct: Spread,
    /// [`window`](kernels::conv1d::window): a launch, a tile's start, and one tap, until memory is
    /// the limit.
    window: Option<[f64; 3]>,
    /// [`blocked`](kernels::conv1d::blocked): a launch, one tap of a lone block, and of each further
    /// block of a multiprocessor, until memory is the limit.
    blocked: [f64; 3],
    /// The smallest number of tiles for `blocked`: with fewer, a tap takes up to three times as
    /// long.
    blocked_from: usize,
    /// [`block_per_output`](kernels::conv1d::block_per_output): a launch, one tap of a block, and
    /// each block of a multiprocessor.
    per_output: Option<[f64; 3]>,
}

const COSTS_F32: Costs = Costs {
    tiled: Spread {
        launch: 4760.0,
        output: 6.1e-3,
        lone: 23.9,
        each: 14.3,
    },
    direct: Spread {
        launch: 4500.0,
        output: 5e-3,
        lone: 80.0,
        each: 12.0,
    },
    window: Some([4760.0, 1200.0, 54.0]),
    blocked: [4760.0, 47.0, 12.3],
    blocked_from: 0,
    per_output: None,
};
const COSTS_F64: Costs = Costs {
    tiled: Spread {
        launch: 3670.0,
        output: 6.8e-3,
        lone: 41.3,
        each: 16.8,
    },
    direct: Spread {
        launch: 3530.0,
        output: 4.0e-3,
        lone: 58.8,
        each: 16.4,
    },
    window: None,
    blocked: [4270.0, 37.3, 13.4],
    blocked_from: 16,
    per_output: Some([3600.0, 5.87, 85.4]),
};

/// The multiprocessors of an H200.
const H200: f64 = 132.0;

/// Whether there are several rows, or none.
pub(super) fn has_rows(task: &Task<'_>) -> bool {
    task.problem.rows != [1; 2]
}

/// The constants for the problem's type.
fn costs(task: &Task<'_>) -> &'static Costs {
    match task.problem.ty.bytes() {
        4 => &COSTS_F32,
        _ => &COSTS_F64,
    }
}

pub(super) fn tiled(task: &Task<'_>) -> Option<f64> {
    (!has_rows(task)).then(|| costs(task).tiled.time(Size::of(task)))
}

pub(super) fn direct(task: &Task<'_>) -> Option<f64> {
    (!has_rows(task)).then(|| costs(task).direct.time(Size::of(task)))
}

/// The time to read the samples and write the outputs at the bandwidth of global memory.
pub(super) fn memory(problem: &Problem, size: Size) -> f64 {
    2.0 * size.of_all() * problem.ty.bytes() as f64 / BANDWIDTH
}

/// The model of `window`, where it is used.
fn in_window(task: &Task<'_>, size: Size) -> Option<[f64; 3]> {
    costs(task)
        .window
        .filter(|_| size.taps <= in_windows::MAX_TAPS)
}

pub(super) fn window(task: &Task<'_>) -> Option<f64> {
    let size = Size::of(task);
    if has_rows(task) {
        return None;
    }
    let [launch, start, tap] = in_window(task, size)?;
    Some(launch + (start + tap * size.taps as f64).max(memory(task.problem, size)))
}

pub(super) fn blocked(task: &Task<'_>) -> Option<f64> {
    let size = Size::of(task);
    let span = by_width!(task.problem.ty.bytes(), T => in_blocks::span::<T>());
    if has_rows(task) {
        return None;
    }
    let costs = costs(task);
    if in_window(task, size).is_some() || size.outputs < costs.blocked_from * span {
        return None;
    }
    let [launch, lone, each] = costs.blocked;
    let more = (size.blocks(span) - 1.0).max(0.0);
    Some(launch + (size.taps as f64 * (lone + each * more)).max(memory(task.problem, size)))
}

/// Blocks that are resident together add their taps concurrently, one thread each. The kernel has
/// no offset, so it is for all outputs of mode full.
pub(super) fn per_output(task: &Task<'_>) -> Option<f64> {
    const THREADS_EACH: usize = 2048;
    const BLOCKS_EACH: usize = 32;
    let size = Size::of(task);
    let [launch, tap, block] = costs(task).per_output?;
    let able = mode(task.problem) == ConvMode::Full && is_whole(task.problem) && !has_rows(task);
    if !able || size.taps > most_threads(task.device) as usize {
        return None;
    }
    let resident = THREADS_EACH / size.taps.next_multiple_of(32);
    let waves = size.blocks(resident.min(BLOCKS_EACH)).ceil();
    Some(launch + waves * tap * size.taps as f64 + block * size.blocks(1))
}

/// What every model of transforms begins with: how many points, and the time to prepare. `None`
/// where they are not used.
fn by_transforms(task: &Task<'_>, size: Size) -> Option<(usize, f64)> {
    let of = transform::transform(task.variant, task.problem.ty)?;
    let able = size.taps >= FFT_FROM && size.taps <= of.most_taps;
    let prepare = if task.options.once { PREPARE } else { 0.0 };
    able.then_some((of.points, prepare))
}

/// The factor on a block's time for rows of `f32`: 1.28 to 1.48 for 2048 points at six shapes, 1.14
/// for 16,384 at one (docs/log/2026-11-30-rows.md). One factor for all, so that the choice among
/// them is that of single signals.
const OF_ROWS: f64 = 1.37;

/// Two launches with one block each, and every further block that a multiprocessor has.
pub(super) fn transforms(task: &Task<'_>) -> Option<f64> {
    let size = Size::of(task);
    let (points, prepare) = by_transforms(task, size)?;
    let [first, each] = match (points, task.problem.ty.bytes()) {
        (2048, 4) => [10_700.0, 914.0],
        (4096, 4) => [11_900.0, 2110.0],
        (8192, 4) => [15_200.0, 4820.0],
        (_, 4) => [28_500.0, 13_000.0],
        _ => [17_100.0, 8490.0],
    };
    let kept = points - discarded(size.taps, 0);
    let [_, [_, of_taps]] = lens(task.problem);
    let of_rows = match task.problem.ty.bytes() {
        4 => OF_ROWS * each,
        _ => each,
    };
    let launches = match transform::takes_rows(task.variant, task.problem) {
        true => first + of_rows * size.blocks(2 * kept),
        false if has_rows(task) && of_taps == 1 => return None,
        // Row by row.
        false => (first + each * Size { rows: 1, ..size }.blocks(2 * kept)) * size.rows as f64,
    };
    Some(launches + prepare)
}

/// Bytes per nanosecond that the kernels read and write.
const BANDWIDTH: f64 = 4000.0;

/// The launches, the points that are transformed, and the signal and output. Measured for `f32`
/// (docs/log/2026-11-23-long-convolution.md); `f64` moves twice the bytes.
pub(super) fn long_transforms(task: &Task<'_>) -> Option<f64> {
    let size = Size::of(task);
    let (points, prepare) = by_transforms(task, size)?;
    let [launches, each] = match points.ilog2() {
        16 => [18_000.0, 9.7e-3],
        17 => [20_000.0, 10.2e-3],
        18 => [26_000.0, 10.6e-3],
        _ => [36_000.0, 13.2e-3],
    };
    let pairs = size.rows as f64 * size.outputs.div_ceil(2 * (points - size.taps)) as f64;
    let bytes = task.problem.ty.bytes() as f64;
    let transformed = pairs * points as f64 * each * bytes / 4.0;
    // Row by row, if each has taps of its own.
    let [_, [_, of_taps]] = lens(task.problem);
    let launches = launches * of_taps.max(1) as f64;
    Some(launches + transformed + memory(task.problem, size) + prepare)
}
