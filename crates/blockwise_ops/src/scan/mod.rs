//! Running sums, minima and maxima.

mod reference;

use blockwise::{AnyView, AnyViewMut, Error, Plain, Type, View, ViewMut};
use kernels::reduce::{Extreme, Sum};
use kernels::scan::{self, Way};

use crate::LaunchError;
use crate::operation::{
    Axis, Bench, Carry, Case, Given, Kernel, Lens, Numbers, Operand, Operation, Parts, Plan, Posed,
    Problem, Rank, Setting, Size, Takes, Task, Variant, Work, kernel, order,
};

/// Scan along an axis. The extents of a problem: the axis, all dimensions before it, all after it.
pub static SCAN: Operation = Operation {
    name: "scan",
    about: "Running sums, minima or maxima",
    example: "x.npy -o running.npy",
    operands: &[Operand {
        name: "input",
        about: "The array (.npy or .csv); without --axis all of it, row after row",
        rank: Rank::Any,
    }],
    settings: &[
        Setting::OneOf {
            name: "operation",
            about: "What runs; NaN stays, once there is one",
            values: &["sum", "min", "max"],
        },
        Setting::Flag {
            name: "exclusive",
            about: "Leave out each element itself; the first result is 0, or the type's largest or smallest number",
        },
        Setting::Axis {
            about: "Along this axis only, counted from the back if negative",
        },
    ],
    result: "the running values",
    types,
    widens: "Sums of integers are int64 or uint64, as NumPy's cumsum has them, and wrap; those of float16 are float32. Minima and maxima have the file's own type.",
    gives: |ty| ty,
    sizes: &[Size {
        name: "len",
        about: "Elements",
        profile: 1 << 16,
    }],
    shapes: |sizes| vec![sizes.to_vec()],
    pose,
    lens: |problem| Lens {
        inputs: [problem.product(), 0],
        output: problem.product(),
    },
    work: |problem| Work {
        bytes: problem.bytes(problem.product()).saturating_mul(2),
        operations: problem.product() as u64,
    },
    reference: reference::reference,
    variants: &[&RUNNING],
    choice: |_| &RUNNING,
    parts: Parts::Carried(&Carry {
        is_one_line,
        align: |ty| by_width!(ty, T => scan::group::<T>()),
        fold: reference::fold,
        picks: |problem| running(problem.settings) != Running::Sum,
        joined: reference::joined,
    }),
    bench: Bench {
        types: &[
            (Type::F32, SIZES),
            (Type::F64, SIZES),
            (Type::I32, SIZES),
            (Type::I64, SIZES),
        ],
        quick: &[1 << 22],
        drawn: &[400_000_000],
        batch: None,
        numbers: Numbers::Whole,
        every: &[],
    },
    cases: CASES,
    edges: &[
        &[0],
        &[1],
        &[2],
        &[31],
        &[33],
        &[509],
        &[511],
        &[512],
        &[513],
        &[2047],
        &[2048],
        &[2049],
        &[4095],
        &[4096],
        &[4097],
        &[16_381],
        &[70_001],
    ],
};

const SIZES: &[&[usize]] = &[&[1], &[1 << 10], &[1 << 20], &[1 << 24], &[1 << 29]];

/// Evaluates an expression with `$T` as `u64` for types of 8 bytes, else as `u32`: a scan's sizes
/// depend on the element's width only.
macro_rules! by_width {
    ($ty:expr, $T:ident => $value:expr) => {
        match $ty.bytes() {
            8 => {
                type $T = u64;
                $value
            }
            _ => {
                type $T = u32;
                $value
            }
        }
    };
}
use by_width;

/// The setting `operation`: what is accumulated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Running {
    Sum,
    Least,
    Greatest,
}

fn running(settings: [u8; 2]) -> Running {
    match settings[0] {
        0 => Running::Sum,
        1 => Running::Least,
        _ => Running::Greatest,
    }
}

fn types(types: &[Type], given: &Given) -> Type {
    match types[0] {
        Type::F16 => Type::F32,
        ty @ (Type::F32 | Type::F64) => ty,
        ty @ (Type::I32 | Type::U32) if running(given.settings) != Running::Sum => ty,
        ty if ty.is_signed() || ty == Type::Bool => Type::I64,
        _ => Type::U64,
    }
}

fn pose(ty: Type, shapes: &[&[usize]], given: &Given) -> Result<Posed, LaunchError> {
    let axis = Axis::of(shapes[0], given.axis)?;
    let problem = Problem::new(ty, &[axis.extent, axis.outer, axis.inner]);
    Ok(Posed {
        problem: Problem {
            settings: given.settings,
            ..problem
        },
        result: shapes[0].to_vec(),
    })
}

/// Whether the whole array is one line.
fn is_one_line(problem: &Problem) -> bool {
    problem.extents[1..] == [1; 3]
}

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

/// Short and long lines, partial tiles, partial runs of tiles, grids that stride.
static CASES: &[Case] = &[
    Case::of(&[1]),
    Case::of(&[300]).spare(),
    Case::of(&[9000]).capped(2),
    Case::of(&[9000]).set(&[[0, 0], [1, 1]]),
    Case::of(&[140_000]).set(&[[0, 0], [1, 0]]).capped(3),
    Case::of(&[]).along(&[5, 300], 1),
    Case::of(&[]).along(&[37, 41], 0),
    Case::of(&[]).along(&[2, 700, 33], 1),
    Case::of(&[])
        .along(&[5100, 2], 0)
        .set(&[[0, 1], [1, 0]])
        .capped(3),
    Case::of(&[]).along(&[2, 5000], 1).set(&[[0, 0], [2, 1]]),
];
