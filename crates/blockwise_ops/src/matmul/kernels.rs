//! The matrix product's entry points with their arguments.

use blockwise::{AnyViewMut, Error, Plain, Type, View, ViewMut};
use kernels::matmul::{
    direct, few_cols, few_rows, fold, mma, naive, narrow, pipelined, pitched, policy,
    register_tile, short, sliced, slices, small, split, tensor, thin, tiled,
};
use kernels::raw;

use super::few::TEAMS;
use super::mma::Divided;
use super::of_a;
use super::small::{each, run};
use crate::operation::{Kernel, Operands, Takes, kernel, raw_kernel};

/// The code of the kernel that adds slices, and of one that prepares operands.
pub(super) const FOLD: u8 = 8;
pub(super) const PREPARE: u8 = 9;

/// Elements between the starts of two rows of B: its columns, unless it was copied. Without rows, any
/// number will do.
fn pitch(of: &Operands<'_>) -> usize {
    let [_, inner, cols, batch] = of.problem.extents;
    match inner * batch {
        0 => policy::pitch(cols),
        rows => of.inputs[1].len() / rows,
    }
}

/// Slices of the inner extent: the output has C for each.
fn count(of: &Operands<'_>) -> usize {
    let [rows, _, cols, batch] = of.problem.extents;
    of.output.len() / (rows * cols * batch).max(1)
}

/// Kernels that take matrices.
macro_rules! matrices {
    ($Type:ident $t:ident, $handle:ty) => {
        kernel!(Takes::Type(Type::$Type), [0, 0], $handle, |of| {
            let [rows, inner, cols, _] = of.problem.extents;
            (
                (of.inputs[0].plain::<$t>()?, rows, inner),
                (of.inputs[1].plain::<$t>()?, inner, cols),
                (of.output.plain::<$t>()?, rows, cols),
            )
        })
    };
}

/// Kernels that take the first rows of C, and the slices of the others.
macro_rules! divided {
    ($which:tt, $handle:ty) => {
        kernel!(Takes::Type(Type::F64), $which, $handle, |of| {
            let ([rows, inner, cols, batch], divided) = (
                of.problem.extents,
                Divided::of(&of.problem, of.output, of.memory)?,
            );
            (
                of.inputs[0].plain::<f64>()?,
                of.inputs[1].plain::<f64>()?,
                divided.c,
                divided.sums,
                rows,
                inner,
                cols,
                divided.whole,
                divided.slices,
                of_a(&of.problem),
                batch,
            )
        })
    };
}

/// Instances of `sliced`.
macro_rules! sliced {
    ($which:tt, $handle:ty) => {
        kernel!(Takes::Type(Type::F32), $which, $handle, |of| {
            let ([rows, inner, cols, batch], pitch, slices) =
                (of.problem.extents, pitch(&of), count(&of));
            (
                of.inputs[0].plain::<f32>()?,
                of.inputs[1].plain::<f32>()?,
                of.output.plain::<f32>()?,
                rows,
                inner,
                cols,
                pitch,
                slices,
                of_a(&of.problem),
                batch,
            )
        })
    };
}

/// The largest of them, which do nothing if the ranges that came before fit the tensor cores. Rows
/// of A follow each other, and those of B too unless they were copied.
macro_rules! tall {
    ($which:tt, $instance:ty) => {
        kernel!(
            Takes::Type(Type::F32),
            $which,
            sliced::matmul_sliced_tall<$instance>,
            |of| {
                let ([rows, inner, cols, batch], pitch_b, slices, unless) =
                    (of.problem.extents, pitch(&of), count(&of), unless(&of)?);
                (
                    of.inputs[0].plain::<f32>()?,
                    of.inputs[1].plain::<f32>()?,
                    of.output.plain::<f32>()?,
                    rows,
                    inner,
                    cols,
                    inner,
                    pitch_b,
                    slices,
                    of_a(&of.problem),
                    batch,
                    unless,
                )
            }
        )
    };
}

/// The ranges that came before: none, but after a product on tensor cores.
fn unless<'a>(of: &Operands<'a>) -> Result<View<'a, u32>, Error> {
    // An empty range of A.
    of.before.unwrap_or(of.inputs[0].view(..0)).plain()
}

/// The kernels that add slices: the input has a matrix for each.
macro_rules! folds {
    ($Type:ident $t:ident) => {
        kernel!(
            Takes::Type(Type::$Type),
            [FOLD, 0],
            fold::matmul_fold<$t>,
            |of| {
                let slices = of.inputs[0].len() / of.output.len().max(1);
                (
                    of.inputs[0].plain::<$t>()?,
                    of.output.plain::<$t>()?,
                    slices,
                )
            }
        )
    };
}

macro_rules! raw {
    ($Type:ident $t:ident) => {
        raw_kernel!(
            Takes::Type(Type::$Type),
            [0, 0],
            raw::matmul::matmul_tiled_raw<$t>,
            |of| (
                of.inputs[0].plain::<$t>()?,
                of.inputs[1].plain::<$t>()?,
                of.output.plain::<$t>()?,
                of.problem.extents[0],
                of.problem.extents[1],
                of.problem.extents[2]
            )
        )
    };
}

pub(super) static NAIVE: &[Kernel] = &[
    matrices!(F32 f32, naive::matmul_naive<f32>),
    matrices!(F64 f64, naive::matmul_naive<f64>),
];

pub(super) static TILED: &[Kernel] = &[
    matrices!(F32 f32, tiled::matmul_tiled<f32>),
    matrices!(F64 f64, tiled::matmul_tiled<f64>),
];

pub(super) static TILED_RAW: &[Kernel] = &[raw!(F32 f32)];

pub(super) static REGISTER_TILE: &[Kernel] = &[
    matrices!(F32 f32, register_tile::matmul_register_tile<f32>),
    matrices!(F64 f64, register_tile::matmul_register_tile<f64>),
];

/// Instances by [`Tiles`](kernels::matmul::policy::Tiles): the smaller ones are those of `sliced`.
pub(super) static PIPELINED: &[Kernel] = &[
    kernel!(
        Takes::Type(Type::F32),
        [0, 0],
        pipelined::matmul_pipelined_f32,
        |of| {
            let ([rows, inner, cols, batch], unless) = (of.problem.extents, unless(&of)?);
            (
                of.inputs[0].plain::<f32>()?,
                of.inputs[1].plain::<f32>()?,
                of.output.plain::<f32>()?,
                rows,
                inner,
                cols,
                of_a(&of.problem),
                batch,
                unless,
            )
        }
    ),
    tall!([0, 1], slices::Tall),
    tall!([0, 2], slices::TallRagged),
];

/// Instances by [`Cut`](slices::Cut); the code says whether single elements move. Then others.
macro_rules! cuts {
    ($($other:expr),*) => {
        &[
            tall!([0, 0], slices::Tall),
            sliced!([0, 1], sliced::matmul_sliced<slices::Square>),
            sliced!([0, 2], sliced::matmul_sliced<slices::Small>),
            sliced!([0, 3], sliced::matmul_sliced<slices::Flat>),
            tall!([1, 0], slices::TallRagged),
            sliced!([1, 1], sliced::matmul_sliced<slices::SquareRagged>),
            sliced!([1, 2], sliced::matmul_sliced<slices::SmallRagged>),
            sliced!([1, 3], sliced::matmul_sliced<slices::FlatRagged>),
            folds!(F32 f32),
            $($other),*
        ]
    };
}

pub(super) static SLICED: &[Kernel] = cuts!();

pub(super) static SLICED_COPY: &[Kernel] = cuts!(
    // From B to the copy of B, and from no rows of A to none.
    kernel!(
        Takes::Type(Type::F32),
        [PREPARE, 0],
        pitched::matmul_pitch_f32,
        |of| {
            let ([_, inner, cols, _], (none, of_b)) = (
                of.problem.extents,
                of.output.plain::<f32>()?.split_at_mut(0),
            );
            (
                of.inputs[0].view(..0).plain::<f32>()?,
                of.inputs[0].plain::<f32>()?,
                none,
                of_b,
                0,
                inner,
                cols,
            )
        }
    )
);

/// Instances by [`MmaTiles`](mma::MmaTiles); the code says whether single elements move.
pub(super) static MMA: &[Kernel] = &[
    divided!([0, 0], mma::matmul_mma_small<mma::Square>),
    divided!([0, 1], mma::matmul_mma<mma::Tall>),
    divided!([0, 2], mma::matmul_mma<mma::Large>),
    divided!([0, 3], mma::matmul_mma_small<mma::Small>),
    divided!([0, 4], mma::matmul_mma_small<mma::Flat>),
    divided!([0, 5], mma::matmul_mma_small<mma::Slim>),
    divided!([1, 0], mma::matmul_mma_small<mma::SquareRagged>),
    divided!([1, 1], mma::matmul_mma<mma::TallRagged>),
    divided!([1, 3], mma::matmul_mma_small<mma::SmallRagged>),
    folds!(F64 f64),
];

/// Kernels that take the elements, memory for slices, the extents, the slices, the batch, and how
/// threads share the work.
macro_rules! few {
    ($Type:ident $t:ident, $which:tt, $handle:ty, $($number:expr),*) => {
        kernel!(Takes::Type(Type::$Type), $which, $handle, |of| {
            let ([rows, inner, cols, batch], few) = (
                of.problem.extents,
                Few::<$t>::of(of.output, of.memory, of.after)?,
            );
            (
                of.inputs[0].plain::<$t>()?,
                of.inputs[1].plain::<$t>()?,
                few.c,
                few.sums,
                few.tickets,
                rows,
                inner,
                cols,
                few.slices,
                of_a(&of.problem),
                batch,
                $($number),*
            )
        })
    };
}

/// C, and the memory of its slices: none with one slice.
struct Few<'a, T: Plain> {
    c: ViewMut<'a, T>,
    sums: ViewMut<'a, T>,
    tickets: ViewMut<'a, u32>,
    slices: usize,
}

impl<'a, T: Plain> Few<'a, T> {
    fn of(
        c: AnyViewMut<'a>,
        sums: Option<AnyViewMut<'a>>,
        tickets: Option<AnyViewMut<'a>>,
    ) -> Result<Self, Error> {
        let (nowhere, c) = c.plain::<T>()?.split_at_mut(0);
        let (none, nowhere) = nowhere.split_at_mut(0);
        let sums = sums.map_or(Ok(nowhere), AnyViewMut::plain)?;
        let tickets = tickets.map_or_else(|| none.cast(), AnyViewMut::plain)?;
        let slices = (sums.len() / c.len().max(1)).max(1);
        Ok(Self {
            c,
            sums,
            tickets,
            slices,
        })
    }
}

/// Instances of `direct`, with a row for each team.
macro_rules! direct {
    ([$code:tt, $instance:tt], $handle:ty) => {
        kernel!(Takes::Type(Type::F64), [$code, $instance], $handle, |of| {
            let ([rows, inner, cols, batch], few) = (
                of.problem.extents,
                Few::<f64>::of(of.output, of.memory, of.after)?,
            );
            (
                of.inputs[0].plain::<f64>()?,
                of.inputs[1].plain::<f64>()?,
                few.c,
                few.sums,
                few.tickets,
                rows,
                inner,
                cols,
                few.slices,
                of_a(&of.problem),
                batch,
                1 << $code,
            )
        })
    };
    ($($instance:tt $handle:ty;)*) => {
        &[$(
            direct!([0, $instance], $handle),
            direct!([1, $instance], $handle),
            direct!([2, $instance], $handle),
            direct!([3, $instance], $handle),
        )*]
    };
}

/// Instances by [`DirectTiles`](direct::DirectTiles); the code is the logarithm of the team.
pub(super) static DIRECT: &[Kernel] = direct! {
    0 direct::matmul_direct<direct::Small>;
    1 direct::matmul_direct<direct::Square>;
    2 direct::matmul_direct<direct::Wide>;
    3 direct::matmul_direct<direct::Narrow>;
};

/// By code: up to four rows, by how many threads share a row of B, and the same by packs of B; up
/// to sixteen, by elements and by packs; few columns, by their team; one column, by elements and by
/// packs of A; few columns of many rows, by the padding.
pub(super) static FEW: &[Kernel] = &[
    few!(F32 f32, [0, 0], thin::matmul_thin<f32>, 8, 0),
    few!(F32 f32, [0, 1], thin::matmul_thin<f32>, 16, 0),
    few!(F32 f32, [0, 2], thin::matmul_thin<f32>, 32, 0),
    few!(F32 f32, [0, 3], thin::matmul_thin<f32>, 64, 0),
    few!(F32 f32, [0, 4], thin::matmul_thin<f32>, 128, 0),
    few!(F32 f32, [1, 0], thin::matmul_thin<f32>, 8, 1),
    few!(F32 f32, [1, 1], thin::matmul_thin<f32>, 16, 1),
    few!(F32 f32, [1, 2], thin::matmul_thin<f32>, 32, 1),
    few!(F32 f32, [1, 3], thin::matmul_thin<f32>, 64, 1),
    few!(F32 f32, [1, 4], thin::matmul_thin<f32>, 128, 1),
    few!(F64 f64, [0, 0], thin::matmul_thin<f64>, 4, 0),
    few!(F64 f64, [0, 1], thin::matmul_thin<f64>, 8, 0),
    few!(F64 f64, [0, 2], thin::matmul_thin<f64>, 16, 0),
    few!(F64 f64, [0, 3], thin::matmul_thin<f64>, 32, 0),
    few!(F64 f64, [0, 4], thin::matmul_thin<f64>, 64, 0),
    few!(F64 f64, [1, 0], thin::matmul_thin<f64>, 4, 1),
    few!(F64 f64, [1, 1], thin::matmul_thin<f64>, 8, 1),
    few!(F64 f64, [1, 2], thin::matmul_thin<f64>, 16, 1),
    few!(F64 f64, [1, 3], thin::matmul_thin<f64>, 32, 1),
    few!(F64 f64, [1, 4], thin::matmul_thin<f64>, 64, 1),
    few!(F32 f32, [2, 0], few_rows::matmul_few_rows<f32>, 0),
    few!(F32 f32, [2, 1], few_rows::matmul_few_rows<f32>, 1),
    few!(F32 f32, [3, 0], few_cols::matmul_few_cols<f32>, TEAMS[0], 0),
    few!(F32 f32, [3, 1], few_cols::matmul_few_cols<f32>, TEAMS[1], 0),
    few!(F32 f32, [3, 2], few_cols::matmul_few_cols<f32>, TEAMS[2], 0),
    few!(F32 f32, [3, 3], few_cols::matmul_few_cols<f32>, TEAMS[3], 0),
    few!(F32 f32, [3, 4], few_cols::matmul_few_cols<f32>, TEAMS[4], 0),
    few!(F32 f32, [3, 5], few_cols::matmul_few_cols<f32>, TEAMS[5], 0),
    few!(F32 f32, [4, 0], few_cols::matmul_one_col<f32>, TEAMS[0], 0),
    few!(F32 f32, [4, 1], few_cols::matmul_one_col<f32>, TEAMS[1], 0),
    few!(F32 f32, [4, 2], few_cols::matmul_one_col<f32>, TEAMS[2], 0),
    few!(F32 f32, [4, 3], few_cols::matmul_one_col<f32>, TEAMS[3], 0),
    few!(F32 f32, [4, 4], few_cols::matmul_one_col<f32>, TEAMS[4], 0),
    few!(F32 f32, [4, 5], few_cols::matmul_one_col<f32>, TEAMS[5], 0),
    few!(F32 f32, [5, 0], few_cols::matmul_one_col<f32>, TEAMS[0], 1),
    few!(F32 f32, [5, 1], few_cols::matmul_one_col<f32>, TEAMS[1], 1),
    few!(F32 f32, [5, 2], few_cols::matmul_one_col<f32>, TEAMS[2], 1),
    few!(F32 f32, [5, 3], few_cols::matmul_one_col<f32>, TEAMS[3], 1),
    few!(F32 f32, [5, 4], few_cols::matmul_one_col<f32>, TEAMS[4], 1),
    few!(F32 f32, [5, 5], few_cols::matmul_one_col<f32>, TEAMS[5], 1),
    few!(F64 f64, [3, 0], few_cols::matmul_few_cols<f64>, TEAMS[0], 0),
    few!(F64 f64, [3, 1], few_cols::matmul_few_cols<f64>, TEAMS[1], 0),
    few!(F64 f64, [3, 2], few_cols::matmul_few_cols<f64>, TEAMS[2], 0),
    few!(F64 f64, [3, 3], few_cols::matmul_few_cols<f64>, TEAMS[3], 0),
    few!(F64 f64, [3, 4], few_cols::matmul_few_cols<f64>, TEAMS[4], 0),
    few!(F64 f64, [3, 5], few_cols::matmul_few_cols<f64>, TEAMS[5], 0),
    few!(F64 f64, [4, 0], few_cols::matmul_one_col<f64>, TEAMS[0], 0),
    few!(F64 f64, [4, 1], few_cols::matmul_one_col<f64>, TEAMS[1], 0),
    few!(F64 f64, [4, 2], few_cols::matmul_one_col<f64>, TEAMS[2], 0),
    few!(F64 f64, [4, 3], few_cols::matmul_one_col<f64>, TEAMS[3], 0),
    few!(F64 f64, [4, 4], few_cols::matmul_one_col<f64>, TEAMS[4], 0),
    few!(F64 f64, [4, 5], few_cols::matmul_one_col<f64>, TEAMS[5], 0),
    few!(F64 f64, [5, 0], few_cols::matmul_few_cols<f64>, TEAMS[0], 1),
    few!(F64 f64, [5, 1], few_cols::matmul_few_cols<f64>, TEAMS[1], 1),
    few!(F64 f64, [5, 2], few_cols::matmul_few_cols<f64>, TEAMS[2], 1),
    few!(F64 f64, [5, 3], few_cols::matmul_few_cols<f64>, TEAMS[3], 1),
    few!(F64 f64, [5, 4], few_cols::matmul_few_cols<f64>, TEAMS[4], 1),
    few!(F64 f64, [5, 5], few_cols::matmul_few_cols<f64>, TEAMS[5], 1),
    few!(F32 f32, [6, 0], narrow::matmul_narrow_f32, narrow::WIDTHS[0]),
    few!(F32 f32, [6, 1], narrow::matmul_narrow_f32, narrow::WIDTHS[1]),
];

/// Kernels that take the elements, the extents of each product, and how a block takes several.
macro_rules! small {
    ($Type:ident $t:ident, $packs:literal) => {
        kernel!(
            Takes::Type(Type::$Type),
            [$packs, 0],
            small::matmul_small<$t>,
            |of| {
                let [rows, inner, cols, batch] = of.problem.extents;
                (
                    of.inputs[0].plain::<$t>()?,
                    of.inputs[1].plain::<$t>()?,
                    of.output.plain::<$t>()?,
                    rows,
                    inner,
                    cols,
                    of_a(&of.problem),
                    batch,
                    run(&of.problem),
                    each(&of.problem),
                    $packs,
                )
            }
        )
    };
}

/// The code says whether 16 bytes move at a time.
pub(super) static SMALL: &[Kernel] = &[
    small!(F32 f32, 0),
    small!(F32 f32, 1),
    small!(F64 f64, 0),
    small!(F64 f64, 1),
];

/// Kernels that take the elements, the extents, and the shape of a block.
macro_rules! short {
    ($Type:ident $t:ident, $code:literal, $handle:ty) => {
        kernel!(Takes::Type(Type::$Type), [$code, 0], $handle, |of| {
            let ([rows, inner, cols, batch], block) = (
                of.problem.extents,
                super::short::block(&of.problem, $code),
            );
            (
                of.inputs[0].plain::<$t>()?,
                of.inputs[1].plain::<$t>()?,
                of.output.plain::<$t>()?,
                rows,
                inner,
                cols,
                of_a(&of.problem),
                batch,
                block.wide.ilog2() as usize,
                block.high.ilog2() as usize,
                usize::from($code & 2 != 0),
            )
        })
    };
    ($($Type:ident $t:ident;)*) => {
        &[$(
            short!($Type $t, 0, short::matmul_short<$t>),
            short!($Type $t, 1, short::matmul_short_deep<$t>),
            short!($Type $t, 2, short::matmul_short<$t>),
            short!($Type $t, 3, short::matmul_short_deep<$t>),
        )*]
    };
}

/// By [`code`](super::short::code).
pub(super) static SHORT: &[Kernel] = short! {
    F32 f32;
    F64 f64;
};

/// The inputs are the terms of A and B and their ranges.
pub(super) static TENSOR: &[Kernel] = &[
    kernel!(
        Takes::Type(Type::F32),
        [0, 0],
        tensor::matmul_tensor_f32,
        |of| {
            let [rows, inner, cols, _] = of.problem.extents;
            (
                of.inputs[0].plain::<u32>()?,
                of.inputs[1].plain::<u32>()?,
                of.inputs[2].plain::<u32>()?,
                of.output.plain::<f32>()?,
                rows,
                inner,
                cols,
            )
        }
    ),
    // To the terms of A, of B, and their ranges.
    kernel!(
        Takes::Type(Type::F32),
        [PREPARE, 0],
        split::matmul_split_f32,
        |of| {
            let ([rows, inner, cols, _], [of_a, of_b, ranges]) =
                (of.problem.extents, three(of.output, of.after, of.memory)?);
            (
                of.inputs[0].plain::<f32>()?,
                of.inputs[1].plain::<f32>()?,
                of_a.plain::<u32>()?,
                of_b.plain::<u32>()?,
                ranges.plain::<u32>()?,
                rows,
                inner,
                cols,
            )
        }
    ),
];

/// An operand that the launches of [`PREPARE`] always have.
fn given(operand: Option<AnyViewMut<'_>>) -> Result<AnyViewMut<'_>, Error> {
    operand.ok_or(Error::Cast {
        from: "nothing",
        to: "elements",
    })
}

fn three<'a>(
    first: AnyViewMut<'a>,
    second: Option<AnyViewMut<'a>>,
    third: Option<AnyViewMut<'a>>,
) -> Result<[AnyViewMut<'a>; 3], Error> {
    Ok([first, given(second)?, given(third)?])
}
