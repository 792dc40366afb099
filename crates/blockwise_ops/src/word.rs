//! The words as which data-moving kernels treat elements.

use blockwise::{View, ViewMut};
use kernels::raw;
use kernels::reverse::{direct, dynamic, fixed};
use kernels::transpose::aligned::{self, Tile};
use kernels::transpose::{naive, padded, thin, tiled};

use crate::launch::{On, Routine, routine};
use crate::{Element, ReverseKernel, TransposeKernel};

/// A matrix of words and its transpose.
pub struct Transposed<'a, W: Element> {
    pub(crate) input: View<'a, W>,
    pub(crate) output: ViewMut<'a, W>,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
}

/// Words and the same in reverse order.
pub struct Reversed<'a, W: Element> {
    pub(crate) input: View<'a, W>,
    pub(crate) output: ViewMut<'a, W>,
}

pub(crate) type TransposeLaunch<W> =
    for<'a> fn(On<'a>, Transposed<'a, W>) -> Result<(), blockwise::Error>;
pub(crate) type ReverseLaunch<W> =
    for<'a> fn(On<'a>, Reversed<'a, W>) -> Result<(), blockwise::Error>;

/// `u32` or `u64`.
pub trait Word: Element<Word = Self> {
    /// The kernel that transposes. Only `aligned` has tiles.
    fn transpose(kernel: TransposeKernel, tile: Tile) -> Routine<TransposeLaunch<Self>>;
    /// The kernel that reverses.
    fn reverse(kernel: ReverseKernel) -> Routine<ReverseLaunch<Self>>;
}

macro_rules! transpose {
    (unsafe $handle:ty) => {
        routine!(unsafe $handle, |of| (of.input, of.output, of.rows, of.cols))
    };
    (plain $handle:ty) => {
        routine!($handle, |of| (of.input, of.output, of.rows, of.cols))
    };
    ($handle:ty) => {
        routine!($handle, |of| (
            (of.input, of.rows, of.cols),
            (of.output, of.rows, of.cols)
        ))
    };
}

macro_rules! reverse {
    (unsafe $handle:ty) => {
        routine!(unsafe $handle, |of| (of.input, of.output))
    };
    ($handle:ty) => {
        routine!($handle, |of| (of.input, of.output))
    };
}

macro_rules! words {
    ($($t:ident)*) => {$(
        impl Word for $t {
            fn transpose(kernel: TransposeKernel, tile: Tile) -> Routine<TransposeLaunch<Self>> {
                match (kernel, tile) {
                    (TransposeKernel::Naive, _) => transpose!(naive::transpose_naive<$t>),
                    (TransposeKernel::Tiled, _) => transpose!(tiled::transpose_tiled<$t>),
                    (TransposeKernel::Padded, _) => transpose!(padded::transpose_padded<$t>),
                    (TransposeKernel::PaddedRaw, _) => {
                        transpose!(unsafe raw::transpose::transpose_padded_raw<$t>)
                    }
                    (TransposeKernel::Thin, _) => transpose!(plain thin::transpose_thin<$t>),
                    (TransposeKernel::Aligned, Tile::Wide) => {
                        transpose!(plain aligned::transpose_aligned<$t>)
                    }
                    (TransposeKernel::Aligned, Tile::Narrow) => {
                        transpose!(plain aligned::transpose_aligned_narrow<$t>)
                    }
                }
            }

            fn reverse(kernel: ReverseKernel) -> Routine<ReverseLaunch<Self>> {
                match kernel {
                    ReverseKernel::Static => reverse!(fixed::reverse_static<$t>),
                    ReverseKernel::StaticRaw => {
                        reverse!(unsafe raw::reverse::reverse_static_raw<$t>)
                    }
                    ReverseKernel::Dynamic => reverse!(dynamic::reverse_dynamic<$t>),
                    ReverseKernel::DynamicRaw => {
                        reverse!(unsafe raw::reverse::reverse_dynamic_raw<$t>)
                    }
                    ReverseKernel::Direct => reverse!(direct::reverse_direct<$t>),
                }
            }
        }
    )*};
}
words!(u32 u64);
