//! The kernels of scans, and their launches.

use blockwise::{AnyView, AnyViewMut, Error, Plain, Type, View, ViewMut};
use kernels::reduce::{Extreme, Sum};
use kernels::scan::{self, Way};

use super::{Running, by_width, is_one_line, running};
use crate::LaunchError;
use crate::operation::{Kernel, Plan, Problem, Takes, Task, Variant, kernel, order};

/// One pass over tiles, each of which looks back at earlier ones in groups of fixed size: the bits
/// do not depend on the grid, the device, the number of devices or the chunks. Warps scan short
/// lines; blocks take tiles of lines whose elements are not adjacent, and look back as well.
pub static RUNNING: Variant = Variant::new(
    "scan",
    "tiles in one pass, which look back in fixed groups",
    KERNELS,
    plan,
)
.memory(|task| {
    let [extent, _, inner, _] = task.problem.extents;
    let (way, len) = (Way::of(extent, inner, true), task.problem.product());
    let words = by_width!(task.problem.ty, T => scan::state_len::<T>(way, len, extent, inner));
    size_of::<u64>() * words.max(1)
});

/// Blocks resident on each multiprocessor: the kernels' `min_blocks`.
const RESIDENT: usize = 3;
const RESIDENT_ONCE: usize = 4;

fn plan(task: &Task<'_>) -> Result<Plan, LaunchError> {
    let [extent, _, inner, _] = task.problem.extents;
    let (way, len) = (Way::of(extent, inner, false), task.problem.product());
    let (blocks, state) = by_width!(task.problem.ty, T => (
        scan::blocks::<T>(way, len, extent, inner),
        scan::state_len::<T>(way, len, extent, inner),
    ));
    let fill = task.device.multiprocessors_to_fill() as usize;
    let code = u8::from(running(task.problem.settings) != Running::Sum);
    let threads = task.fixed_block(scan::THREADS)?;
    if way == Way::Tiles && !task.totals && blocks <= RESIDENT_ONCE * fill {
        let plan = task.plan_blocks([code, 1], blocks, threads, scan::TILE_BYTES.into())?;
        let [given, ..] = plan.launch.grid;
        // A cap may leave fewer.
        if by_width!(task.problem.ty, T => scan::in_one_step::<T>(len, extent, given)) {
            return Ok(plan);
        }
    }
    // Blocks that take tickets are those that can be resident: they take turns.
    let blocks = match (way, state) {
        (Way::Tiles, _) | (Way::Columns, 1..) => blocks.min(RESIDENT * fill),
        (Way::Rows | Way::Columns | Way::Walks, _) => blocks,
    };
    // A single line may be launched in parts, and parts are scanned by tiles, however short.
    let shared_bytes = match Way::of(extent, inner, is_one_line(task.problem)) {
        Way::Tiles => scan::RING_BYTES,
        Way::Rows | Way::Columns | Way::Walks => 0,
    };
    task.plan_blocks([code, 0], blocks, threads, shared_bytes.into())
}

/// One instance per type for sums and one for minima and maxima. Unsigned integers use the signed
/// instances: their sums have the same bits, and `flip` changes the order.
static KERNELS: &[Kernel] = &{
    macro_rules! running {
        (
            $Type:ident, $t:ident, $code:expr, $Op:ident, $instance:expr, $($kernel:ident)::+
            $(, $inner:expr)?
        ) => {
            kernel!(Takes::Type(Type::$Type), [$code, $instance], $($kernel)::+<$t, $Op>, |of| {
                let (output, after) = ends::<$t>(of.output, of.after)?;
                (
                    of.inputs[0].plain::<$t>()?,
                    output,
                    state(of.memory)?,
                    before::<$t>(of.before, of.inputs[0])?,
                    after,
                    of.problem.extents[0].max(1),
                    $($inner(&of.problem),)?
                    flip::<$t>(&of.problem),
                    of.problem.settings[1].into(),
                )
            })
        };
    }
    macro_rules! instances {
        ($($Type:ident $t:ident $code:literal $Op:ident;)*) => {
            [$(
                running!($Type, $t, $code, $Op, 0, scan::scan, inner),
                running!($Type, $t, $code, $Op, 1, scan::once::scan_once),
            )*]
        };
    }
    instances! {
        F32 f32 0 Sum;
        F64 f64 0 Sum;
        I32 i32 0 Sum;
        U32 i32 0 Sum;
        I64 i64 0 Sum;
        U64 i64 0 Sum;
        F32 f32 1 Extreme;
        F64 f64 1 Extreme;
        I32 i32 1 Extreme;
        U32 i32 1 Extreme;
        I64 i64 1 Extreme;
        U64 i64 1 Extreme;
    }
};

fn inner(problem: &Problem) -> usize {
    problem.extents[2].max(1)
}

fn flip<T>(problem: &Problem) -> u64 {
    match running(problem.settings) {
        Running::Sum => 0,
        Running::Least => order(problem.ty, false).flip::<T>(),
        Running::Greatest => order(problem.ty, true).flip::<T>(),
    }
}

/// The output, and the memory for the state with which the next part begins: empty if there is
/// none.
fn ends<'a, T: Plain>(
    output: AnyViewMut<'a>,
    after: Option<AnyViewMut<'a>>,
) -> Result<(ViewMut<'a, T>, ViewMut<'a, T>), Error> {
    let (nowhere, output) = output.plain::<T>()?.split_at_mut(0);
    let after = after.map(AnyViewMut::plain).transpose()?;
    Ok((output, after.unwrap_or(nowhere)))
}

fn before<'a, T: Plain>(
    before: Option<AnyView<'a>>,
    input: AnyView<'a>,
) -> Result<View<'a, T>, Error> {
    before.unwrap_or(input.view(..0)).plain()
}

fn state(memory: Option<AnyViewMut<'_>>) -> Result<ViewMut<'_, u64>, Error> {
    let none = Error::Cast {
        from: "nothing",
        to: u64::NAME,
    };
    memory.ok_or(none)?.plain()
}
