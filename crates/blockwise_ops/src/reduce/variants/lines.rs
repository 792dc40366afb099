//! Reductions along an axis: their plan, their error and the arguments of a launch.

mod divide;

use blockwise::{AnyViewMut, Error, Plain, Type, View, ViewMut};
use kernels::reduce::axis::{PACKED, PACKS, SHORT, THREADS, TICKETS, TOGETHER, Tiling, fold_axis};
use kernels::reduce::{Addend, Extreme, Sum, axis::Along};

use self::divide::{axis, blocks, divided, filling, in_flight, tiling, undivided, way_of};
use super::super::problem::{Code, Way, how};
use crate::LaunchError;
use crate::LaunchPlan;
use crate::limits::{blocks_for, check};
use crate::operation::{
    Axis, Kernel, On, Operands, Plan, Problem, Takes, Task, Tier, Variant, kernel,
};
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

/// The same for indices of extremes, for which there is no other kernel.
pub static INDEX: Variant = Variant::new(
    "axis",
    "tiles of columns, several threads a line, in one launch",
    LINES,
    plan,
)
.memory(memory);

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

/// The memory for tickets and for the results of parts.
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
    let filling = filling(task.device);
    let (axis, tiling) = (axis(task.problem, filling), tiling(task));
    let ([wide, high], threads) = blocks(axis, &tiling, task.problem.ty, filling);
    let mut blocks = [wide, tiling.parts, high].into_iter();
    let grid = task.device.max_grid.map(|limit| {
        let items = blocks.next().unwrap_or(1);
        blocks_for(items, 1, task.options.grid_cap, limit)
    });
    let launch = LaunchPlan {
        kernel: kernel.entry.name,
        grid,
        block: [threads[0], threads[1], 1],
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
    // Short lines that are folded several at a time.
    let several = |most: usize, at_once: usize| match tiling.part <= most {
        true => tiling.part.div_ceil(at_once) + at_once.ilog2() as usize,
        false => 0,
    };
    let share = share
        .max(several(SHORT[task.problem.ty.bytes() / 8], TOGETHER))
        .max(several(PACKED, PACKS));
    let of_parts = match tiling.parts {
        1 => 0,
        parts => parts.div_ceil(rows) + rounds as usize,
    };
    // A mean is divided, which adds no more than an addition.
    oracle::widened::<T>(1 + share + rounds as usize + of_parts + 1)
}

/// The arguments of a launch.
struct Given<'a, T: Plain, M: Plain> {
    input: View<'a, T>,
    values: ViewMut<'a, T>,
    more: ViewMut<'a, M>,
    own: ViewMut<'a, u64>,
    axis: Axis,
    tiling: Tiling,
    way: usize,
    how: u64,
}

impl<'a, T: Plain, M: Plain> Given<'a, T, M> {
    /// The problem determines the results, the memory the number of parts.
    fn of(on: &On<'_>, of: Operands<'a>) -> Result<Self, Error> {
        let device = on.device.properties();
        let filling = filling(device);
        let (problem, axis) = (&of.problem, axis(&of.problem, filling));
        let outputs = axis.outer * axis.inner;
        let (none, output) = of.output.plain::<u8>()?.split_at_mut(0);
        let (own, none) = none.split_at_mut(0);
        let own = of.memory.map(AnyViewMut::plain).transpose()?.unwrap_or(own);
        let parts = own.len().saturating_sub(TICKETS * size_of::<u32>());
        let parts = parts / (outputs * each(problem)).max(1);
        let code = Code::of(problem);
        let one = undivided(axis, problem.ty, code.is_sum(), filling);
        let tiling = divided(one, axis.extent, parts);
        let (values, more) = match of.after {
            Some(after) if code.is_index() => {
                let after = after.plain::<u8>()?;
                // With less room, the kernel's contract names the lengths.
                let middle = after.len().min(outputs * size_of::<i64>());
                let (more, values) = after.split_at_mut(middle);
                (values, more)
            }
            Some(after) => (none, after.plain()?),
            None if code.is_index() => (none, output),
            None => (output, none),
        };
        Ok(Self {
            input: of.inputs[0].plain()?,
            values: values.cast()?,
            more: more.cast()?,
            own: own.cast()?,
            axis,
            tiling,
            way: way_of(axis, &tiling, problem.ty, on.shape),
            how: how::<T>(problem),
        })
    }
}

const LINES: &[Kernel] = &{
    macro_rules! lines {
        ($Type:ident $t:ident, $code:ident, $Op:ident) => {
            kernel!(Takes::Type(Type::$Type), [Code::$code.of_kernel(), 0], fold_axis<$t, $Op>, |on, of| {
                let of = Given::<$t, <$Op as Along>::More<$t>>::of(&on, of)?;
                (
                    of.input, of.values, of.more, of.own,
                    of.axis.outer, of.axis.extent, of.axis.inner,
                    of.tiling.rows as usize, of.tiling.part, of.tiling.parts, of.way, of.how
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
