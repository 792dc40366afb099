//! The matrix product C = A·B of row-major matrices, and batches of products.

mod cases;
mod choice;
mod copy;
mod cost;
mod direct;
mod few;
mod fold;
mod kernels;
mod launches;
mod mma;
mod parts;
mod plan;
mod rates;
mod reference;
mod short;
mod slices;
mod small;
mod tensor;
mod tuned;
mod vectors;

use blockwise::Type;

use crate::operation::{
    Bench, Given, Lens, Numbers, Operand, Operation, Parts, Posed, Problem, Rank, Setting, Size,
    Tier, Variant, Work,
};
use crate::{LaunchError, matrix_len};

pub use self::launches::{enqueue, matmul, matmul_batch, matmul_buffers};
pub use self::parts::{Place, SumOrder};
pub use ::kernels::matmul::direct::DirectTiles;
pub use ::kernels::matmul::mma::MmaTiles;
pub use ::kernels::matmul::policy::Tiles;
pub use tensor::plan_split;

/// The product: extents are the rows of A and C, the columns of A and rows of B, the columns of B and
/// C, and the products of a batch. The second setting is 1 if all of these share one A.
///
/// A batch is a three-dimensional operand, `[products, rows, columns]`. The other operand has as
/// many matrices, or one that all products share, with two dimensions or three. Matrices follow
/// each other without gaps. Each product has the bits that it has alone, by the same instance in as
/// many slices; products that share B are one product of all their rows.
///
/// Where operands do not begin at multiples of 16 bytes another kernel may be the fastest, which adds
/// in another order.
pub static MATMUL: Operation = Operation {
    name: "matmul",
    about: "Matrix product C = A*B, or a batch of products",
    example: "a.npy b.npy -o product.npy",
    operands: &[
        Operand {
            name: "a",
            about: "Matrix A, M x K, or a batch of them, P x M x K (.npy or .csv)",
            rank: Rank::Matrices,
        },
        Operand {
            name: "b",
            about: "Matrix B, K x N, or a batch; all products share what is one matrix.",
            rank: Rank::Matrices,
        },
    ],
    settings: &[Setting::Flag {
        name: "tensor",
        about: "Multiply float32 on the tensor cores of a GPU of compute capability 9.0, as accurately as without them",
    }],
    result: "C, M x N or P x M x N (.npy or .csv)",
    types: |types, _| {
        let single = |ty: &Type| [Type::F16, Type::F32].contains(ty);
        match types.iter().all(single) {
            true => Type::F32,
            // As NumPy promotes them, but integers too: there are kernels for floats only.
            false => Type::F64,
        }
    },
    widens: "Products of float32 and float16 are float32; all others, those of integers too, are float64.",
    gives: |ty| ty,
    sizes: &[
        Size {
            name: "rows",
            about: "M",
            profile: 128,
        },
        Size {
            name: "inner",
            about: "K",
            profile: 128,
        },
        Size {
            name: "cols",
            about: "N",
            profile: 128,
        },
    ],
    shapes: |sizes| match *sizes {
        [rows, inner, cols] => vec![vec![rows, inner], vec![inner, cols]],
        [batch, rows, inner, cols] => vec![vec![batch, rows, inner], vec![batch, inner, cols]],
        [of_a, of_b, rows, inner, cols] => vec![vec![of_a, rows, inner], vec![of_b, inner, cols]],
        _ => Vec::new(),
    },
    pose,
    lens: |problem| {
        let [rows, inner, cols, batch] = problem.extents;
        let len =
            |matrices: usize, rows: usize, cols| rows.saturating_mul(cols).saturating_mul(matrices);
        Lens {
            inputs: [len(of_a(problem), rows, inner), len(batch, inner, cols)],
            output: len(batch, rows, cols),
        }
    },
    work: |problem| {
        let Lens { inputs, output } = (MATMUL.lens)(problem);
        let elements = inputs[0].saturating_add(inputs[1]).saturating_add(output);
        let [_, inner, ..] = problem.extents;
        Work {
            bytes: problem.bytes(elements),
            operations: (output as u64)
                .saturating_mul(inner as u64)
                .saturating_mul(2),
        }
    },
    reference: reference::reference,
    variants: &[
        &NAIVE,
        &TILED,
        &TILED_RAW,
        &REGISTER_TILE,
        &PIPELINED,
        &SLICED,
        &SLICED_COPY,
        &MMA,
        &DIRECT,
        &FEW,
        &SMALL,
        &SHORT,
        &TENSOR,
    ],
    choice: choice::fastest,
    parts: Parts::Panels,
    bench: Bench {
        types: &[
            (
                Type::F32,
                &[
                    &[2048; 3],
                    &[4096; 3],
                    &[8192; 3],
                    &[4093, 4099, 4111],
                    &[512; 3],
                    &[1536; 3],
                    &[64, 4096, 4096],
                    &[600, 4099, 601],
                    &[128, 8192, 128],
                    &[256, 65536, 256],
                    &[1, 4096, 4096],
                    &[4096, 4096, 1],
                    &[10_000, 16, 16, 16],
                    &[4096, 32, 32, 32],
                    &[1024, 64, 64, 64],
                    &[512, 128, 128, 128],
                    &[64, 512, 512, 512],
                    &[1000, 100, 100, 100],
                ],
            ),
            (
                Type::F64,
                &[
                    &[1024; 3],
                    &[2048; 3],
                    &[4096; 3],
                    &[8192; 3],
                    &[1, 4096, 4096],
                    &[4096, 4096, 1],
                    &[10_000, 16, 16, 16],
                    &[4096, 32, 32, 32],
                    &[1024, 64, 64, 64],
                    &[512, 128, 128, 128],
                    &[64, 512, 512, 512],
                    &[1000, 100, 100, 100],
                ],
            ),
        ],
        quick: &[1024; 3],
        drawn: &[20_000; 3],
        batch: Some(("matmul-batch", 20_000)),
        every: &[],
        numbers: Numbers::Uniform,
    },
    cases: cases::CASES,
    edges: cases::EDGES,
};

/// Each thread reads its row and column from global memory.
pub static NAIVE: Variant = Variant::new(
    "naive",
    "each thread reads its row and column from global memory",
    kernels::NAIVE,
    plan::whole,
)
.worth(is_one);

/// Blocks share tiles of both operands.
pub static TILED: Variant = Variant::new(
    "tiled",
    "blocks share tiles of both operands",
    kernels::TILED,
    plan::whole,
)
.worth(is_one);

/// The same in rust-cuda's form.
pub static TILED_RAW: Variant = Variant::new(
    "tiled-raw",
    "the same in rust-cuda's form",
    kernels::TILED_RAW,
    plan::whole,
)
.tier(Tier::Document)
.worth(is_one);

/// Each thread keeps a tile of the output in registers.
pub static REGISTER_TILE: Variant = Variant::new(
    "register-tile",
    "each thread keeps a tile of the output in registers",
    kernels::REGISTER_TILE,
    plan::whole,
)
.worth(is_one);

/// Asynchronous copies run ahead of the arithmetic; for f32. Instances are [`Tiles`]: one that does
/// not [fit](Tiles::fit) the columns or the operands' alignment takes the fastest that does.
pub static PIPELINED: Variant = Variant::new(
    "pipelined",
    "asynchronous copies run ahead of the arithmetic; for f32",
    kernels::PIPELINED,
    plan::whole,
)
.tuned(tuned::tiles);

/// The same in smaller tiles, and in slices of the inner extent, which are then added in order; for
/// f32. Instances are [`Cut`](::kernels::matmul::slices::Cut)s, the count is the slices'.
pub static SLICED: Variant = Variant::new(
    "sliced",
    "the same in smaller tiles, and in slices of the inner extent; for f32",
    kernels::SLICED,
    plan::whole,
)
.held(slices::hold)
.alone(plan::is_one_slice)
.tuned(tuned::cuts);

/// The same of a copy of B, whose rows start at whole memory sectors.
pub static SLICED_COPY: Variant = Variant::new(
    "sliced-copy",
    "the same of a copy of B, whose rows start at whole memory sectors",
    kernels::SLICED_COPY,
    plan::of_copy,
)
.held(slices::hold_copy)
.worth(|problem| is_one(problem) && vectors::need_copies(problem));

/// Tensor cores multiply; for f64. Instances are [`MmaTiles`], the count is the slices' of the rows
/// that are not [whole](crate::operation::Options::whole).
pub static MMA: Variant = Variant::new(
    "mma",
    "tensor cores multiply; for f64",
    kernels::MMA,
    plan::whole,
)
.held(slices::hold)
.alone(plan::is_one_slice)
.tuned(tuned::mma_tiles);

/// The same in tiles of 8 to 32 rows and columns, whose inner extent the warps of a block divide;
/// for f64. Instances are [`DirectTiles`], the count is the slices', which the same launch adds.
pub static DIRECT: Variant = Variant::new(
    "direct",
    "the same in small tiles, whose inner extent the warps of a block divide; for f64",
    kernels::DIRECT,
    plan::whole,
)
.held(slices::hold)
.alone(plan::is_one_slice)
.worth(direct::is_direct)
.tuned(tuned::direct_tiles);

/// Reads each element of the larger matrix once; for at most sixteen columns or rows (f64: four).
/// The count is the slices', which the same launch adds.
pub static FEW: Variant = Variant::new(
    "few",
    "reads each element of the larger matrix once; for at most 16 columns or rows (f64: 4)",
    kernels::FEW,
    plan::whole,
)
.held(slices::hold)
.alone(plan::is_one_slice)
.worth(few::is_few);

/// Whole matrices in shared memory, several products a block, or short rows of one; for batches of
/// small ones.
pub static SMALL: Variant = Variant::new(
    "small",
    "whole matrices in shared memory, several products a block; for batches of small ones",
    kernels::SMALL,
    plan::small,
)
.worth(|problem| !is_one(problem) && small::is_small(problem));

/// Goes down the rows of the output by packs of 16 bytes; for an inner extent of at most sixteen.
pub static SHORT: Variant = Variant::new(
    "short",
    "goes down the rows of the output by packs of 16 bytes; for an inner extent of at most sixteen",
    kernels::SHORT,
    plan::short,
)
.worth(short::is_short);

/// Tensor cores of compute capability 9.0 multiply f32, split into three BF16 terms, with an error
/// no larger than that of FP32 arithmetic.
pub static TENSOR: Variant = Variant::new(
    "tensor",
    "tensor cores multiply f32 in three BF16 terms; for compute capability 9.0",
    kernels::TENSOR,
    tensor::plan,
)
.held(tensor::hold)
.worth(|problem| is_one(problem) && problem.extents[..3].iter().all(|&extent| extent > 1));

fn pose(ty: Type, shapes: &[&[usize]], given: &Given) -> Result<Posed, LaunchError> {
    let matrices = |at: usize, what| match *shapes[at] {
        [rows, cols] => Ok((None, [rows, cols])),
        [batch, rows, cols] => Ok((Some(batch), [rows, cols])),
        ref shape => Err(LaunchError::Rank {
            what,
            shape: shape.to_vec(),
            wanted: "a batch or a matrix",
        }),
    };
    let ((of_a, a), (of_b, b)) = (matrices(0, "A")?, matrices(1, "B")?);
    let mut problem = match (of_a, of_b) {
        (None, None) => problem(ty, a, b)?,
        _ => batch(ty, (of_a.unwrap_or(1), a), (of_b.unwrap_or(1), b)).map_err(|error| {
            match error {
                // With the shapes as they were given.
                LaunchError::ShapeMismatch { rule, .. } => LaunchError::ShapeMismatch {
                    left_name: "A",
                    left: shapes[0].to_vec(),
                    right_name: "B",
                    right: shapes[1].to_vec(),
                    rule,
                },
                error => error,
            }
        })?,
    };
    problem.settings[0] = given.settings[0];
    let mut result = vec![a[0], b[1]];
    if let Some(batch) = products(of_a.unwrap_or(1), of_b.unwrap_or(1))
        && (of_a, of_b) != (None, None)
    {
        result.insert(0, batch);
    }
    Ok(Posed { problem, result })
}

/// How many products a batch has, from the number of matrices on each side: equal numbers, or one
/// matrix that all products share. `None` for others.
fn products(of_a: usize, of_b: usize) -> Option<usize> {
    match (of_a, of_b) {
        (1, batch) | (batch, 1) => Some(batch),
        _ => (of_a == of_b).then_some(of_a),
    }
}

/// The problem of a batch of products. Each side gives its number of matrices, equal on both or 1
/// where all products share one, and their rows and columns.
///
/// ```
/// use blockwise::{AnyView, Device, Type};
/// use blockwise_ops::Options;
/// use blockwise_ops::matmul::{MATMUL, batch};
/// use blockwise_ops::operation::Call;
///
/// let device = Device::any()?;
/// // Two products of 1 x 2 by 2 x 1 that share A.
/// let problem = batch(Type::F32, (1, [1, 2]), (2, [2, 1]))?;
/// let a = device.upload(&[1.0_f32, 10.0])?;
/// let b = device.upload(&[1.0_f32, 2.0, 3.0, 4.0])?;
/// let mut c = device.upload(&[0.0_f32; 2])?;
/// let mut call = Call::new(&device, &MATMUL, Options::default());
/// let inputs = [a.as_view().into(), b.as_view().into()];
/// call.enqueue(None, &problem, &inputs, c.as_view_mut().into())?;
/// assert_eq!(c.to_vec()?, [21.0, 43.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the numbers of matrices, or the columns of A and the rows of B, do not fit together, or
/// elements cannot be counted.
pub fn batch(
    ty: Type,
    (of_a, a): (usize, [usize; 2]),
    (of_b, b): (usize, [usize; 2]),
) -> Result<Problem, LaunchError> {
    let Some(batch) = products(of_a, of_b) else {
        return Err(LaunchError::ShapeMismatch {
            left_name: "A",
            left: vec![of_a, a[0], a[1]],
            right_name: "B",
            right: vec![of_b, b[0], b[1]],
            rule: "batches have as many matrices, or one that all products share",
        });
    };
    let one = problem(ty, a, b)?;
    for (matrices, [rows, cols]) in [(of_a, a), (of_b, b), (batch, [a[0], b[1]])] {
        matrix_len(matrix_len(rows, cols)?, matrices)?;
    }
    // Products that share B are one, of all their rows.
    let (rows, batch) = match of_b {
        1 => (matrix_len(a[0], batch)?, 1),
        _ => (a[0], batch),
    };
    let shares_a = of_a == 1 && batch != 1;
    Ok(Problem {
        extents: [rows, a[1], b[1], batch],
        settings: [0, shares_a.into()],
        ..one
    })
}

/// The problem of a product with these extents.
///
/// # Errors
/// When the number of columns of A differs from the number of rows of B, or elements cannot be
/// counted.
pub fn problem(ty: Type, a: [usize; 2], b: [usize; 2]) -> Result<Problem, LaunchError> {
    if a[1] != b[0] {
        return Err(LaunchError::ShapeMismatch {
            left_name: "A",
            left: a.to_vec(),
            right_name: "B",
            right: b.to_vec(),
            rule: "a product needs as many columns in A as rows in B",
        });
    }
    let ([rows, inner], [_, cols]) = (a, b);
    for [rows, cols] in [a, b, [rows, cols]] {
        matrix_len(rows, cols)?;
    }
    Ok(Problem::new(ty, &[rows, inner, cols]))
}

/// Matrices of A: one, or as many as there are products.
fn of_a(problem: &Problem) -> usize {
    match problem.settings[1] {
        0 => problem.extents[3],
        _ => 1,
    }
}

/// Whether it is a single product.
fn is_one(problem: &Problem) -> bool {
    problem.extents[3] == 1
}

/// What this gives for the task of a problem with default options on an H200.
#[cfg(test)]
fn with_task<R>(ty: Type, sizes: &[usize], of: impl FnOnce(&crate::operation::Task<'_>) -> R) -> R {
    use crate::operation::{Options, Task};
    let (problem, options) = (Problem::new(ty, sizes), Options::default());
    let device = crate::limits::h200();
    of(&Task::new(&NAIVE, &problem, &options, &device))
}

/// The product's extents, of each product of a batch.
fn extents(problem: &Problem) -> [usize; 3] {
    let [rows, inner, cols, _] = problem.extents;
    [rows, inner, cols]
}
