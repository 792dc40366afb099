//! Reductions along an axis: how blocks divide an array, and what a launch is given.

use blockwise::{Error, Plain, Type, View, ViewMut};
use kernels::reduce::axis::{IN_FLIGHT, THREADS, Tiling, fold_axis};
use kernels::reduce::{Addend, Extreme, Sum, axis::Along};

use super::super::problem::{Code, Way, axis, how};
use crate::LaunchError;
use crate::limits::{blocks_for, check};
use crate::operation::{Axis, Kernel, Operands, Plan, Problem, Takes, Task, Tier, Variant, kernel};
use crate::oracle::{self, Precision};
use crate::LaunchPlan;

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

/// Tickets of a launch, at most; more tiles than these need no parts.
const TICKETS: usize = 4096;

/// The widest tile of columns.
const WIDEST: usize = 64;

/// Rows of a thread, at least, where lines have several threads.
const ROWS: usize = 16;

/// Rows of a thread, at least, where lines have several parts.
const ROWS_OF_PARTS: usize = 8;

/// Blocks for each multiprocessor up to which lines are divided in parts.
const BLOCKS: usize = 8;

/// Additions of a thread's share, at most, where the tickets allow it: with the rest of the path
/// below [`PATH`](kernels::reduce::addend::PATH).
const SHARE: usize = 3072;

/// How blocks divide an array, but for parts: of rows, the same on any device.
fn undivided(axis: Axis) -> Tiling {
    let most = THREADS as usize;
    let inner = axis.inner.max(1);
    let cols = inner.div_ceil(inner.div_ceil(WIDEST));
    let most = most / cols;
    let wanted = axis.extent.div_ceil(ROWS).max(1);
    let (rows, lines) = if wanted >= most {
        (most, 1)
    } else {
        let rows = wanted.next_power_of_two().min(1 << most.ilog2());
        (rows, (most / rows).min(axis.outer.max(1)))
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
fn divided(axis: Axis, parts: usize) -> Tiling {
    let part = axis.extent.div_ceil(parts.max(1)).max(1);
    Tiling {
        part,
        parts: axis.extent.div_ceil(part).max(1),
        ..undivided(axis)
    }
}

/// How blocks divide the array of a task.
fn tiling(task: &Task<'_>) -> Tiling {
    let axis = axis(task.problem);
    let one = undivided(axis);
    let tiles = tiles(axis, &one).into_iter().product::<usize>().max(1);
    let rows = one.rows as usize;
    if tiles > TICKETS {
        return one;
    }
    if let Some(parts) = task.options.count {
        return divided(axis, parts.get() as usize);
    }
    let wanted = BLOCKS * task.device.multiprocessors_to_fill() as usize / tiles;
    let wanted = wanted.min(axis.extent / (rows * ROWS_OF_PARTS));
    // Rather more blocks than longer sums.
    let short = axis.extent.div_ceil(rows * SHARE * in_flight(task.problem.ty));
    divided(axis, wanted.max(short))
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

/// Tickets, and parts of lines.
fn memory(task: &Task<'_>) -> usize {
    let tiling = tiling(task);
    let [_, outer, inner, _] = task.problem.extents;
    match Tiling::own(each(task.problem), outer * inner, tiling.parts) {
        0 => 0,
        words => TICKETS * size_of::<u32>() + words * size_of::<u64>(),
    }
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
    tickets: ViewMut<'a, u32>,
    axis: Axis,
    tiling: Tiling,
    how: u64,
}

impl<'a, T: Plain, M: Plain> Given<'a, T, M> {
    /// Which results there are follows from the problem, and how many parts from the memory.
    fn of(of: Operands<'a>) -> Result<Self, Error> {
        let (problem, axis) = (&of.problem, axis(&of.problem));
        let outputs = axis.outer * axis.inner;
        let (none, output) = of.output.plain::<u8>()?.split_at_mut(0);
        let (own, none) = none.split_at_mut(0);
        let (tickets, none) = none.split_at_mut(0);
        let (tickets, own) = match of.memory {
            Some(memory) => memory.plain::<u8>()?.split_at_mut(TICKETS * size_of::<u32>()),
            None => (tickets, own),
        };
        let parts = own.len() / (outputs * each(problem)).max(1);
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
            tickets: tickets.cast()?,
            axis,
            tiling: divided(axis, parts),
            how: how::<T>(problem),
        })
    }
}

const LINES: &[Kernel] = &{
    macro_rules! lines {
        ($Type:ident $t:ident, $code:ident, $Op:ident) => {
            kernel!(Takes::Type(Type::$Type), [Code::$code.of_kernel(), 0], fold_axis<$t, $Op>, |of| {
                let of = Given::<$t, <$Op as Along>::More<$t>>::of(of)?;
                (
                    of.input, of.values, of.more, of.own, of.tickets,
                    of.axis.outer, of.axis.extent, of.axis.inner,
                    of.tiling.rows, of.tiling.part, of.tiling.parts, of.how
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
