//! The descriptions of sums, means, minima, maxima and dot products.

use blockwise::Type;
use kernels::reduce::Twofold;

use super::problem::{Code, Way, problem};
use super::variants::plan;
use super::{choice, reference, variants};
use crate::LaunchError;
use crate::array::len_of;
use crate::operation::{
    Axis, Bench, Case, Fold, Given, Lens, Numbers, Operand, Operation, Parts, Posed, Problem, Rank,
    Reduction, Setting, Size, Work,
};
use crate::oracle::{blas_path, blocked_path};

fn pose(ty: Type, code: Code, shapes: &[&[usize]], given: &Given) -> Result<Posed, LaunchError> {
    if code == Code::Mean && !ty.is_float() {
        return Err(LaunchError::NoInstance {
            kernel: "mean",
            given: ty,
            known: "f32, f64".to_owned(),
        });
    }
    let axis = Axis::of(shapes[0], given.axis)?;
    let (way, result) = match given.axis {
        None if code.is_index() => (Way::Lines, Vec::new()),
        None => (Way::Whole, Vec::new()),
        Some(at) => {
            let mut result = shapes[0].to_vec();
            result.remove(at.rem_euclid(result.len().cast_signed()).cast_unsigned());
            (Way::Lines, result)
        }
    };
    let problem = problem(ty, code, way, axis)?;
    Ok(Posed { problem, result })
}

/// The type of a sum: wider than narrow terms, of the same sign, as in NumPy.
fn wider(types: &[Type], _: &Given) -> Type {
    let kinds = types.iter().map(|ty| match ty {
        Type::F16 | Type::F32 => Type::F32,
        Type::F64 => Type::F64,
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => Type::U64,
        _ => Type::I64,
    });
    let promoted = kinds.reduce(|a, b| match (a, b) {
        _ if a == b => a,
        (Type::I64 | Type::U64, Type::I64 | Type::U64) => Type::I64,
        _ => Type::F64,
    });
    promoted.unwrap_or(Type::F64)
}

/// The type of a mean: `f64` for integers, as in NumPy.
fn divided(types: &[Type], _: &Given) -> Type {
    match types[0] {
        Type::F16 | Type::F32 => Type::F32,
        _ => Type::F64,
    }
}

/// The type in which kernels compare. Elements themselves keep their type.
fn compared(types: &[Type], _: &Given) -> Type {
    match types[0] {
        Type::F16 | Type::F32 => Type::F32,
        ty @ (Type::F64 | Type::U64) => ty,
        _ => Type::I64,
    }
}

fn lens(problem: &Problem) -> Lens {
    let input = problem.product();
    Lens {
        inputs: match Code::of(problem) {
            Code::Dot => [input; 2],
            _ => [input, 0],
        },
        output: problem.extents[1].saturating_mul(problem.extents[2]),
    }
}

fn work(problem: &Problem) -> Work {
    let operands = lens(problem).inputs.map(|len| len as u64);
    let elements = operands[0].saturating_add(operands[1]);
    Work {
        bytes: elements.saturating_mul(problem.ty.bytes() as u64),
        operations: elements,
    }
}

const AXIS: Setting = Setting::Axis {
    about: "Along this axis only, counted from the back if negative; the result is an array",
};

/// One operand, of any shape.
const INPUT: &[Operand] = &[Operand {
    name: "input",
    about: "The array, of any shape (.npy, .csv; .wav: all samples of all channels)",
    rank: Rank::Any,
}];

const fn fold(by: Reduction, is_index: bool, path: fn(usize) -> usize) -> Fold {
    Fold {
        by,
        is_index,
        is_mean: false,
        is_whole: |problem| Way::of(problem) == Way::Whole,
        bytes: |ty| match ty {
            Type::F64 => size_of::<Twofold>(),
            _ => size_of::<f64>(),
        },
        results: plan::results,
        number: super::total::number,
        error: plan::error,
        path,
    }
}

/// The description that all reductions share.
const fn reduction(
    name: &'static str,
    about: &'static str,
    code: Code,
    fold: &'static Fold,
) -> Operation {
    let is_sum = code.is_sum();
    Operation {
        name,
        about,
        example: "x.npy",
        operands: INPUT,
        settings: &[AXIS],
        result: match code {
            Code::Sum | Code::Dot => "the sums along an axis",
            Code::Mean => "the means along an axis",
            Code::Min => "the minima along an axis, in the file's own type",
            Code::Max => "the maxima along an axis, in the file's own type",
            Code::ArgMin | Code::ArgMax => "the indices along an axis, int64",
        },
        types: match code {
            Code::Sum | Code::Dot => wider,
            Code::Mean => divided,
            Code::Min | Code::Max | Code::ArgMin | Code::ArgMax => compared,
        },
        widens: match code {
            Code::Sum | Code::Dot => {
                "Sums of float16 are float32; of bool and signed integers they are int64, of unsigned ones uint64, and wrap, as in NumPy. Floats are added in more precision than their own, and rounded once."
            }
            Code::Mean => {
                "Means of float16 are float32; of bool and integers they are float64, as in NumPy. They are added in more precision than their own, divided, and rounded once."
            }
            Code::Min | Code::Max | Code::ArgMin | Code::ArgMax => "",
        },
        gives: if code.is_index() {
            |_| Type::I64
        } else {
            |ty| ty
        },
        sizes: &[Size {
            name: "len",
            about: "Elements",
            profile: 1 << 18,
        }],
        shapes: |sizes| vec![sizes.to_vec()],
        pose: match code {
            Code::Sum => |ty, shapes, given| pose(ty, Code::Sum, shapes, given),
            Code::Min => |ty, shapes, given| pose(ty, Code::Min, shapes, given),
            Code::Max => |ty, shapes, given| pose(ty, Code::Max, shapes, given),
            Code::Mean => |ty, shapes, given| pose(ty, Code::Mean, shapes, given),
            Code::ArgMin => |ty, shapes, given| pose(ty, Code::ArgMin, shapes, given),
            Code::ArgMax => |ty, shapes, given| pose(ty, Code::ArgMax, shapes, given),
            Code::Dot => |ty, shapes, _| {
                let [a, b] = [len_of(shapes[0])?, len_of(shapes[1])?];
                same_length(a, b)?;
                pose(ty, Code::Dot, &[&[a]], &Given::default())
            },
        },
        lens,
        work,
        reference: reference::reference,
        variants: match code {
            Code::ArgMin | Code::ArgMax => variants::OF_INDICES,
            Code::Mean => variants::EXACT,
            _ => variants::ALL,
        },
        choice: if code.is_index() {
            |_| &variants::INDEX
        } else {
            choice::fastest
        },
        parts: Parts::Folded(fold),
        bench: Bench {
            types: match code {
                Code::Mean => &[(Type::F32, SIZES), (Type::F64, LARGE)],
                _ => &[(Type::F32, SIZES), (Type::I64, LARGE), (Type::F64, LARGE)],
            },
            quick: &[1 << 24],
            drawn: &[400_000_000],
            batch: None,
            numbers: if is_sum {
                Numbers::Whole
            } else {
                Numbers::Uniform
            },
            // The document's type.
            every: match code {
                Code::Dot => &[Type::I64],
                _ => &[],
            },
        },
        cases: match code {
            Code::Sum | Code::Dot => &[],
            // The kernels are those of sums.
            Code::Mean => &[],
            Code::Min | Code::Max => &[],
            Code::ArgMin | Code::ArgMax => INDEX_CASES,
        },
        edges: match code {
            // The kernels are those of sums.
            Code::Mean => &[],
            _ => EDGES,
        },
    }
}

const SIZES: &[&[usize]] = &[&[1 << 20], &[1 << 29]];
const LARGE: &[&[usize]] = &[&[1 << 27]];

/// Sizes around the blocks of the default threads. Tiles of packs, and distinguishable totals, need
/// operands and launches of their own.
const EDGES: &[&[usize]] = &[&[1], &[2], &[255], &[256], &[257], &[509], &[1031]];

/// Lines of one thread and of several, of one block and of several; columns in one tile and in
/// several; short lines, several a thread.
const INDEX_CASES: &[Case] = &[
    Case::of(&[5003]),
    Case::of(&[]).along(&[70, 11], 1).spare(),
    Case::of(&[]).along(&[3, 67, 5], 1).capped(1),
    Case::of(&[]).along(&[400, 3], 1).capped(1),
    Case::of(&[]).along(&[2, 4, 530], 1).capped(1),
    Case::of(&[]).along(&[2, 700, 131], 1).counting(3),
];

static SUMS: Fold = fold(Reduction::Sum, false, blocked_path);
static MINS: Fold = fold(Reduction::Min, false, blocked_path);
static MAXS: Fold = fold(Reduction::Max, false, blocked_path);
static MEANS: Fold = Fold {
    is_mean: true,
    ..fold(Reduction::Sum, false, blocked_path)
};
static DOTS: Fold = fold(Reduction::Sum, false, blas_path);
static INDICES_OF_MINS: Fold = fold(Reduction::Min, true, blocked_path);
static INDICES_OF_MAXS: Fold = fold(Reduction::Max, true, blocked_path);

/// The sum.
pub static SUM: Operation = reduction(
    "sum",
    "Sum of all elements (0 of nothing; integers wrap, as in NumPy)",
    Code::Sum,
    &SUMS,
);

/// The smallest element.
pub static MIN: Operation = reduction(
    "min",
    "Smallest element (NaN if there is one)",
    Code::Min,
    &MINS,
);

/// The largest element.
pub static MAX: Operation = reduction(
    "max",
    "Largest element (NaN if there is one)",
    Code::Max,
    &MAXS,
);

/// The mean of floats. The command takes integers as `f64`, as NumPy does.
pub static MEAN: Operation = reduction(
    "mean",
    "Mean of all elements (NaN of nothing)",
    Code::Mean,
    &MEANS,
);

/// The index of the smallest element.
pub static ARGMIN: Operation = reduction(
    "argmin",
    "Index of the smallest element: of equals the first, and of the first NaN if there is one",
    Code::ArgMin,
    &INDICES_OF_MINS,
);

/// The index of the largest element.
pub static ARGMAX: Operation = reduction(
    "argmax",
    "Index of the largest element: of equals the first, and of the first NaN if there is one",
    Code::ArgMax,
    &INDICES_OF_MAXS,
);

/// The dot product Σ a\[i\] · b\[i\].
pub static DOT: Operation = Operation {
    example: "x.npy y.npy",
    operands: &[
        Operand {
            name: "a",
            about: "A vector (.npy or .csv)",
            rank: Rank::Vector,
        },
        Operand {
            name: "b",
            about: "A vector of the same length; integers beside floats, and float32 beside float64, are float64",
            rank: Rank::Vector,
        },
    ],
    settings: &[],
    result: "",
    shapes: |sizes| vec![sizes.to_vec(); 2],
    ..reduction("dot", "Dot product of two vectors", Code::Dot, &DOTS)
};

/// Checks that a dot product's operands have the same length.
///
/// # Errors
/// When they do not.
pub fn same_length(a_len: usize, b_len: usize) -> Result<(), LaunchError> {
    if a_len != b_len {
        return Err(LaunchError::ShapeMismatch {
            left_name: "a",
            left: vec![a_len],
            right_name: "b",
            right: vec![b_len],
            rule: "a dot product needs the same number of elements in both",
        });
    }
    Ok(())
}
