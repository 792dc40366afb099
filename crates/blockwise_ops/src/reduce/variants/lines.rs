//! Reductions along an axis: how blocks divide an array, and what a launch is given.

use blockwise::{AnyViewMut, DeviceProperties, Error, Plain, Type, View, ViewMut};
use kernels::reduce::axis::{IN_FLIGHT, LONGEST, THREADS, TICKETS, Tiling, fold_axis};
use kernels::reduce::{Addend, Extreme, Sum, axis::Along};

use super::super::problem::{Code, Way, axis, how};
use crate::LaunchError;
use crate::LaunchPlan;
use crate::limits::{blocks_for, check};
use crate::operation::{Axis, Kernel, Operands, Plan, Problem, Takes, Task, Tier, Variant, kernel};
use crate::oracle::{self, Precision};

/// Tiles of columns and rows, in one launch.
pub static AXIS: Variant = Variant::new(
    "axis",
    "tiles of columns, several threads a line, in one launch",
    LINES,
    plan,
)
.memory(memory)
.tier(Tier::Step);

/// The same of indices of extremes: there is no other kernel.
pub static INDEX: Variant = Variant::new(
    "axis",
    "tiles of columns, several threads a line, in one launch",
    LINES,
    plan,
)
.memory(memory);

/// Blocks that a multiprocessor holds: 64 registers a thread.
const BLOCKS: usize = 4;

/// Additions of a thread's share, at most, where the tickets allow it: with the rest of the path
/// below [`PATH`](kernels::reduce::addend::PATH).
const SHARE: usize = 3072;

/// Columns from which on a tile has some of them only.
const WIDE: usize = 32;

/// The most threads of a line in tiles of columns: each row of such a tile has whole sectors.
const MOST_ROWS: usize = 8;

/// The fewest elements of a thread.
const FEWEST: usize = 8;

/// Elements of a thread, about, of 4 bytes and of 8, where outputs fill the device and lines are runs
/// of memory. With 18 of 4 bytes the last two are waited for as long as the first 16: 768 × 128 × 1152
/// along the last axis takes 201 µs, with 72 it takes 157 (H100).
const PLENTY: [usize; 2] = [48, 20];

/// Groups of loads of a thread. With fewer, lines are not divided in parts, which costs 1.4 µs; with
/// more than the other, in parts for twice the blocks that the device holds, so that the last ones
/// end together.
const UNDIVIDED: usize = 4;
const LONG: usize = 24;

/// Parts for each thread of a line, at most, which the last block folds.
const PARTS: usize = 4;

/// How blocks divide an array, but for parts. `at_once` is the number of blocks that a device holds.
///
/// A line has as many threads as still leave each of them several elements to load at once, but no
/// more than make all blocks run at the same time: folding what threads have takes time too.
fn undivided(axis: Axis, bytes: usize, at_once: usize) -> Tiling {
    let useful = axis.extent.div_ceil(FEWEST).max(1).next_power_of_two();
    let (mut threads, least) = match axis.inner < WIDE {
        true => (
            useful,
            1 << (axis.extent / PLENTY[bytes / 8]).max(1).ilog2(),
        ),
        false => (useful.min(MOST_ROWS), 1),
    };
    loop {
        let tiling = with_threads(axis, threads.min(THREADS as usize), useful);
        let [wide, high] = tiles(axis, &tiling);
        if threads <= least || wide.saturating_mul(high) <= at_once {
            return tiling;
        }
        threads /= 2;
    }
}

/// The same with this many threads a line, a power of two.
fn with_threads(axis: Axis, wanted: usize, useful: usize) -> Tiling {
    let (threads, inner) = (THREADS as usize, axis.inner.max(1));
    let cols = match inner < WIDE {
        true => inner,
        false => inner.div_ceil(inner.div_ceil(threads / wanted)),
    };
    let most = threads / cols;
    let lines = (most / wanted).clamp(1, axis.outer.max(1));
    let rows = match lines {
        // One line need not be told from others by a shift.
        1 => most.min(useful.max(wanted)),
        _ => wanted,
    };
    Tiling {
        cols: cols as u32,
        rows: rows as u32,
        lines: lines as u32,
        part: axis.extent.max(1),
        parts: 1,
    }
}

/// Tiles along the columns and along the outer indices.
fn tiles(axis: Axis, tiling: &Tiling) -> [usize; 2] {
    [
        axis.inner.div_ceil(tiling.cols as usize),
        axis.outer.div_ceil(tiling.lines as usize),
    ]
}

/// Elements of a type that a thread has in flight.
const fn in_flight(ty: Type) -> usize {
    IN_FLIGHT / ty.bytes()
}

/// The same with this many parts, or a few less: all have the same rows but the last.
fn divided(tiling: Tiling, extent: usize, parts: usize) -> Tiling {
    let part = extent.div_ceil(parts.max(1)).clamp(1, LONGEST);
    Tiling {
        part,
        parts: extent.div_ceil(part).max(1),
        ..tiling
    }
}

/// How blocks divide the array of a task.
fn tiling(task: &Task<'_>) -> Tiling {
    let (axis, at_once) = (axis(task.problem), at_once(task.device));
    let one = undivided(axis, task.problem.ty.bytes(), at_once);
    let tiles = tiles(axis, &one).into_iter().product::<usize>().max(1);
    let rows = one.rows as usize;
    let parts = if tiles > TICKETS {
        1
    } else if let Some(parts) = task.options.count {
        parts.get() as usize
    } else {
        let group = rows * in_flight(task.problem.ty);
        let groups = axis.extent / group;
        let wanted = match groups < UNDIVIDED {
            true => 1,
            false => (at_once / tiles).clamp(1, groups.min(PARTS * rows)),
        };
        let wanted = match groups / wanted >= LONG {
            true => (2 * at_once / tiles).clamp(1, PARTS * rows),
            false => wanted,
        };
        // Rather more blocks than longer sums.
        wanted.max(axis.extent.div_ceil(group * SHARE))
    };
    divided(one, axis.extent, parts)
}

fn at_once(device: &DeviceProperties) -> usize {
    BLOCKS * device.multiprocessors_to_fill() as usize
}

/// Bytes of a part of a line.
fn each(problem: &Problem) -> usize {
    const fn of<T: Addend, O: Along>() -> usize {
        size_of::<O::Folded<T>>()
    }
    match (Code::of(problem).is_sum(), problem.ty) {
        (true, Type::F32) => of::<f32, Sum>(),
        (true, Type::F64) => of::<f64, Sum>(),
        (true, _) => of::<i64, Sum>(),
        (false, _) => of::<i64, Extreme>(),
    }
}

/// Tickets, and what parts of lines leave.
fn memory(task: &Task<'_>) -> usize {
    let tiling = tiling(task);
    let [_, outer, inner, _] = task.problem.extents;
    Tiling::own(each(task.problem), outer * inner, tiling.parts) * size_of::<u64>()
}

/// Plans a launch.
fn plan(task: &Task<'_>) -> Result<Plan, LaunchError> {
    if Way::of(task.problem) == Way::Whole {
        return Err(LaunchError::NoLines {
            kernel: task.variant.name,
        });
    }
    task.fixed_block(THREADS)?;
    let kernel = task.kernel([Code::of(task.problem).of_kernel(), 0])?;
    let (axis, tiling) = (axis(task.problem), tiling(task));
    let [wide, high] = tiles(axis, &tiling);
    let mut blocks = [wide, tiling.parts, high].into_iter();
    let grid = task.device.max_grid.map(|limit| {
        let items = blocks.next().unwrap_or(1);
        blocks_for(items, 1, task.options.grid_cap, limit)
    });
    let launch = LaunchPlan {
        kernel: kernel.entry.name,
        grid,
        block: [tiling.cols, tiling.rows * tiling.lines, 1],
        dynamic_shared_bytes: 0,
    };
    check(&launch, task.device)?;
    Ok(Plan { launch, kernel })
}

/// The error of a sum before rounding, relative to the sum of its terms' magnitudes.
pub(super) fn error<T: Precision>(task: &Task<'_>) -> f64 {
    let tiling = tiling(task);
    let rows = tiling.rows as usize;
    let (group, rounds) = (in_flight(task.problem.ty), rows.next_power_of_two().ilog2());
    let share = tiling.part.div_ceil(rows).div_ceil(group) + group.ilog2() as usize;
    let of_parts = match tiling.parts {
        1 => 0,
        parts => parts.div_ceil(rows) + rounds as usize,
    };
    // A mean is divided, which adds no more than an addition.
    oracle::widened::<T>(1 + share + rounds as usize + of_parts + 1)
}

/// What a launch is given.
struct Given<'a, T: Plain, M: Plain> {
    input: View<'a, T>,
    values: ViewMut<'a, T>,
    more: ViewMut<'a, M>,
    own: ViewMut<'a, u64>,
    axis: Axis,
    tiling: Tiling,
    how: u64,
}

impl<'a, T: Plain, M: Plain> Given<'a, T, M> {
    /// Which results there are follows from the problem, and how many parts from the memory.
    fn of(device: &DeviceProperties, of: Operands<'a>) -> Result<Self, Error> {
        let (problem, axis) = (&of.problem, axis(&of.problem));
        let (outputs, bytes) = (axis.outer * axis.inner, problem.ty.bytes());
        let (none, output) = of.output.plain::<u8>()?.split_at_mut(0);
        let (own, none) = none.split_at_mut(0);
        let own = of.memory.map(AnyViewMut::plain).transpose()?.unwrap_or(own);
        let parts = own.len().saturating_sub(TICKETS * size_of::<u32>());
        let parts = parts / (outputs * each(problem)).max(1);
        let is_index = Code::of(problem).is_index();
        let (values, more) = match of.after {
            Some(after) if is_index => {
                let after = after.plain::<u8>()?;
                // With less room, the kernel's contract names the lengths.
                let middle = after.len().min(outputs * size_of::<i64>());
                let (more, values) = after.split_at_mut(middle);
                (values, more)
            }
            Some(after) => (none, after.plain()?),
            None if is_index => (none, output),
            None => (output, none),
        };
        Ok(Self {
            input: of.inputs[0].plain()?,
            values: values.cast()?,
            more: more.cast()?,
            own: own.cast()?,
            axis,
            tiling: divided(undivided(axis, bytes, at_once(device)), axis.extent, parts),
            how: how::<T>(problem),
        })
    }
}

const LINES: &[Kernel] = &{
    macro_rules! lines {
        ($Type:ident $t:ident, $code:ident, $Op:ident) => {
            kernel!(Takes::Type(Type::$Type), [Code::$code.of_kernel(), 0], fold_axis<$t, $Op>, |on, of| {
                let of = Given::<$t, <$Op as Along>::More<$t>>::of(on.device.properties(), of)?;
                (
                    of.input, of.values, of.more, of.own,
                    of.axis.outer, of.axis.extent, of.axis.inner,
                    of.tiling.rows as usize, of.tiling.part, of.tiling.parts, of.how
                )
            })
        };
    }
    [
        lines!(I64 i64, Sum, Sum),
        lines!(U64 i64, Sum, Sum),
        lines!(F32 f32, Sum, Sum),
        lines!(F64 f64, Sum, Sum),
        lines!(I64 i64, Min, Extreme),
        lines!(U64 i64, Min, Extreme),
        lines!(F32 f32, Min, Extreme),
        lines!(F64 f64, Min, Extreme),
    ]
};
