//! The matrix products' kernels by type.

use blockwise::{View, ViewMut};
use kernels::matmul::policy::Tiles;
use kernels::matmul::{naive, pipelined, pitched, register_tile, tiled};
use kernels::raw;

use super::{MatmulKernel, MatmulShape};
use crate::Element;
use crate::launch::{On, Routine, routine};

/// What a product reads and writes.
pub struct Operands<'a, T: Element> {
    pub(crate) a: View<'a, T>,
    pub(crate) b: View<'a, T>,
    pub(crate) c: ViewMut<'a, T>,
    pub(crate) shape: MatmulShape,
    /// `pipelined` does nothing when these ranges fit the tensor cores.
    pub(crate) unless: Option<View<'a, u32>>,
}

/// What is copied to rows that begin at whole sectors.
pub(crate) struct Copied<'a, T: Element> {
    pub(crate) a: View<'a, T>,
    pub(crate) b: View<'a, T>,
    pub(crate) of_a: ViewMut<'a, T>,
    pub(crate) of_b: ViewMut<'a, T>,
    pub(crate) shape: MatmulShape,
}

pub(crate) type MatmulLaunch<T> =
    for<'a> fn(On<'a>, Operands<'a, T>) -> Result<(), blockwise::Error>;
pub(crate) type CopyLaunch<T> = for<'a> fn(On<'a>, Copied<'a, T>) -> Result<(), blockwise::Error>;

/// The two kernels of a [`PitchedMatmul`](crate::PitchedMatmul).
pub struct Pitched<T: Element> {
    pub(crate) copy: Routine<CopyLaunch<T>>,
    pub(crate) product: Routine<MatmulLaunch<T>>,
}

/// A type with kernels that multiply matrices.
pub trait Multiplies: Element {
    /// The kernel, if there is one for the type. Only `pipelined` has tiles.
    fn product(kernel: MatmulKernel, tiles: Tiles) -> Option<Routine<MatmulLaunch<Self>>>;
    /// The kernels that multiply copies of the operands, if there are any for the type.
    fn pitched() -> Option<Pitched<Self>>;
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
                // None of A's elements.
                None => of.a.view(..0).cast()?,
            }
        ))
    };
}

macro_rules! multiplies {
    ($t:ident, pipelined: $pipelined:expr, pitched: $pitched:expr) => {
        impl Multiplies for $t {
            fn product(kernel: MatmulKernel, tiles: Tiles) -> Option<Routine<MatmulLaunch<Self>>> {
                let pipelined: fn(Tiles) -> Option<Routine<MatmulLaunch<Self>>> = $pipelined;
                Some(match kernel {
                    MatmulKernel::Naive => product!(naive::matmul_naive<$t>),
                    MatmulKernel::Tiled => product!(tiled::matmul_tiled<$t>),
                    MatmulKernel::TiledRaw => product!(unsafe raw::matmul::matmul_tiled_raw<$t>),
                    MatmulKernel::RegisterTile => product!(register_tile::matmul_register_tile<$t>),
                    MatmulKernel::Pipelined => return pipelined(tiles),
                })
            }

            fn pitched() -> Option<Pitched<Self>> {
                $pitched
            }
        }
    };
}

multiplies!(
    f32,
    pipelined: |tiles| Some(match tiles {
        Tiles::Wide => pipelined!(pipelined::matmul_pipelined_f32),
        Tiles::Tall => pipelined!(pipelined::matmul_pipelined_tall_f32),
        Tiles::Ragged => pipelined!(pipelined::matmul_pipelined_ragged_f32),
    }),
    pitched: Some(Pitched {
        copy: routine!(
            pitched::matmul_pitch_f32,
            |of| (of.a, of.b, of.of_a, of.of_b, of.shape.rows, of.shape.inner, of.shape.cols)
        ),
        product: product!(plain pitched::matmul_pipelined_pitched_f32),
    })
);
multiplies!(f64, pipelined: |_| None, pitched: None);
