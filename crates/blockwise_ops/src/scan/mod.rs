//! Running sums, minima and maxima.

mod reference;
mod variant;

use blockwise::Type;
use kernels::scan;

use crate::LaunchError;
use crate::operation::{
    Axis, Bench, Carry, Case, Given, Lens, Numbers, Operand, Operation, Parts, Posed, Problem,
    Rank, Setting, Size, Work,
};
pub use variant::RUNNING;

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
