//! The matrix product kernels for each type.

use blockwise::{View, ViewMut};
use kernels::matmul::mma::{self, MmaTiles};
use kernels::matmul::policy::Tiles;
use kernels::matmul::slices::{self, Cut};
use kernels::matmul::{fold, naive, pipelined, pitched, register_tile, sliced, tiled, vector};
use kernels::raw;

use super::fold::FoldLaunch;
use super::{MatmulKernel, MatmulShape};
use crate::Element;
use crate::launch::{On, Routine, routine};

/// The operands and output of a product.
pub struct Operands<'a, T: Element> {
    pub(crate) a: View<'a, T>,
    pub(crate) b: View<'a, T>,
    pub(crate) c: ViewMut<'a, T>,
    pub(crate) shape: MatmulShape,
    /// Elements between the starts of two rows of B: its columns, unless it was copied.
    pub(crate) pitch: usize,
    /// Slices of the inner extent; `c` has one matrix per slice.
    pub(crate) slices: usize,
    /// `pipelined` does nothing if these ranges fit the tensor cores.
    pub(crate) unless: Option<View<'a, u32>>,
}

/// The operands of a copy to rows that start at whole memory sectors.
pub(crate) struct Copied<'a, T: Element> {
    pub(crate) a: View<'a, T>,
    pub(crate) b: View<'a, T>,
    pub(crate) of_a: ViewMut<'a, T>,
    pub(crate) of_b: ViewMut<'a, T>,
    pub(crate) shape: MatmulShape,
}

impl<'a, T: Element> Operands<'a, T> {
    /// The operands of a product in one slice, which is always computed, of matrices without gaps.
    pub(crate) fn whole(
        a: View<'a, T>,
        b: View<'a, T>,
        c: ViewMut<'a, T>,
        shape: MatmulShape,
    ) -> Self {
        let (slices, unless) = (1, None);
        Self {
            a,
            b,
            c,
            shape,
            pitch: shape.cols,
            slices,
            unless,
        }
    }
}

pub(crate) type MatmulLaunch<T> =
    for<'a> fn(On<'a>, Operands<'a, T>) -> Result<(), blockwise::Error>;
pub(crate) type CopyLaunch<T> = for<'a> fn(On<'a>, Copied<'a, T>) -> Result<(), blockwise::Error>;

/// The instance of a kernel that has several.
#[derive(Clone, Copy)]
pub struct Instance {
    /// For `pipelined`.
    pub(crate) tiles: Tiles,
    /// For `sliced`.
    pub(crate) cut: Cut,
    /// For `mma`.
    pub(crate) mma: MmaTiles,
    /// For `sliced`, `mma` and `vector`: whether elements move 16 bytes at a time.
    pub(crate) vectors: bool,
    /// For `vector`: whether A is the matrix.
    pub(crate) by_rows: bool,
}

impl Instance {
    /// An instance that exists for every kernel.
    pub(crate) const ANY: Self = Self {
        tiles: Tiles::Ragged,
        cut: Cut::Small,
        mma: MmaTiles::Square,
        vectors: false,
        by_rows: true,
    };
}

/// The two kernels of a [`PitchedMatmul`](crate::PitchedMatmul).
pub struct Pitched<T: Element> {
    pub(crate) copy: Routine<CopyLaunch<T>>,
    pub(crate) product: Routine<MatmulLaunch<T>>,
}

/// A type with matrix product kernels.
pub trait Multiplies: Element {
    /// The kernel, if the type has it.
    fn product(kernel: MatmulKernel, instance: Instance) -> Option<Routine<MatmulLaunch<Self>>>;
    /// The kernels that multiply copies of the operands, if the type has them.
    fn pitched() -> Option<Pitched<Self>>;
    /// The kernel that adds the products of slices.
    fn fold_slices() -> Routine<FoldLaunch<Self>>;
}

macro_rules! product {
    (unsafe $handle:ty) => {
        routine!(unsafe $handle, |of| (
            of.a,
            of.b,
            of.c,
            of.shape.rows,
            of.shape.inner,
            of.shape.cols
        ))
    };
    (plain $handle:ty) => {
        routine!($handle, |of| (
            of.a,
            of.b,
            of.c,
            of.shape.rows,
            of.shape.inner,
            of.shape.cols
        ))
    };
    ($handle:ty) => {
        routine!($handle, |of| (
            (of.a, of.shape.rows, of.shape.inner),
            (of.b, of.shape.inner, of.shape.cols),
            (of.c, of.shape.rows, of.shape.cols)
        ))
    };
}

macro_rules! sliced {
    ($handle:ty) => {
        routine!($handle, |of| (
            of.a,
            of.b,
            of.c,
            of.shape.rows,
            of.shape.inner,
            of.shape.cols,
            of.pitch,
            of.slices
        ))
    };
}

macro_rules! slices {
    ($handle:ty) => {
        routine!($handle, |of| (
            of.a,
            of.b,
            of.c,
            of.shape.rows,
            of.shape.inner,
            of.shape.cols,
            of.slices
        ))
    };
}

macro_rules! pipelined {
    ($handle:ty) => {
        routine!($handle, |of| (
            of.a,
            of.b,
            of.c,
            of.shape.rows,
            of.shape.inner,
            of.shape.cols,
            match of.unless {
                Some(ranges) => ranges,
                // An empty range of A.
                None => of.a.view(..0).cast()?,
            }
        ))
    };
}

macro_rules! multiplies {
    ($t:ident, other: $other:expr, pitched: $pitched:expr) => {
        impl Multiplies for $t {
            fn product(
                kernel: MatmulKernel,
                instance: Instance,
            ) -> Option<Routine<MatmulLaunch<Self>>> {
                let other: fn(MatmulKernel, Instance) -> Option<Routine<MatmulLaunch<Self>>> = $other;
                Some(match kernel {
                    MatmulKernel::Naive => product!(naive::matmul_naive<$t>),
                    MatmulKernel::Tiled => product!(tiled::matmul_tiled<$t>),
                    MatmulKernel::TiledRaw => product!(unsafe raw::matmul::matmul_tiled_raw<$t>),
                    MatmulKernel::RegisterTile => product!(register_tile::matmul_register_tile<$t>),
                    MatmulKernel::Vector => match (instance.by_rows, instance.vectors) {
                        (true, true) => slices!(vector::matmul_rows<$t>),
                        (true, false) => slices!(vector::matmul_rows_ragged<$t>),
                        (false, true) => slices!(vector::matmul_cols<$t>),
                        (false, false) => slices!(vector::matmul_cols_ragged<$t>),
                    },
                    MatmulKernel::Pipelined | MatmulKernel::Sliced | MatmulKernel::Mma => {
                        return other(kernel, instance);
                    }
                })
            }

            fn pitched() -> Option<Pitched<Self>> {
                $pitched
            }

            fn fold_slices() -> Routine<FoldLaunch<Self>> {
                routine!(fold::matmul_fold<$t>, |of| (of.sums, of.c, of.slices))
            }
        }
    };
}

multiplies!(
    f32,
    other: |kernel, instance| Some(match (kernel, instance.tiles, instance.cut) {
        (MatmulKernel::Pipelined, Tiles::Wide, _) => pipelined!(pipelined::matmul_pipelined_f32),
        (MatmulKernel::Pipelined, Tiles::Tall, _) => pipelined!(pipelined::matmul_pipelined_tall_f32),
        (MatmulKernel::Pipelined, Tiles::Ragged, _) => pipelined!(pipelined::matmul_pipelined_ragged_f32),
        (MatmulKernel::Sliced, _, cut) => match (cut, instance.vectors) {
            (Cut::Tall, true) => sliced!(sliced::matmul_sliced<slices::Tall>),
            (Cut::Tall, false) => sliced!(sliced::matmul_sliced<slices::TallRagged>),
            (Cut::Square, true) => sliced!(sliced::matmul_sliced<slices::Square>),
            (Cut::Square, false) => sliced!(sliced::matmul_sliced<slices::SquareRagged>),
            (Cut::Small, true) => sliced!(sliced::matmul_sliced<slices::Small>),
            (Cut::Small, false) => sliced!(sliced::matmul_sliced<slices::SmallRagged>),
        },
        _ => return None,
    }),
    pitched: Some(Pitched {
        copy: routine!(
            pitched::matmul_pitch_f32,
            |of| (of.a, of.b, of.of_a, of.of_b, of.shape.rows, of.shape.inner, of.shape.cols)
        ),
        product: product!(plain pitched::matmul_pipelined_pitched_f32),
    })
);
multiplies!(
    f64,
    other: |kernel, instance| Some(match (kernel, instance.mma, instance.vectors) {
        (MatmulKernel::Mma, MmaTiles::Square, true) => slices!(mma::matmul_mma_small<mma::Square>),
        (MatmulKernel::Mma, MmaTiles::Square, false) => {
            slices!(mma::matmul_mma_small<mma::SquareRagged>)
        }
        (MatmulKernel::Mma, MmaTiles::Tall, true) => slices!(mma::matmul_mma<mma::Tall>),
        (MatmulKernel::Mma, MmaTiles::Tall, false) => slices!(mma::matmul_mma<mma::TallRagged>),
        (MatmulKernel::Mma, MmaTiles::Large, true) => slices!(mma::matmul_mma<mma::Large>),
        (MatmulKernel::Mma, MmaTiles::Large, false) => slices!(mma::matmul_mma<mma::LargeRagged>),
        _ => return None,
    }),
    pitched: None
);
