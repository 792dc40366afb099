//! The convolutions' kernels by type.

use blockwise::{View, ViewMut};
use kernels::conv1d::{block_per_output, blocked, direct, tiled, window};
use kernels::raw;

use super::ConvKernel;
use crate::Element;
use crate::launch::{On, Routine, routine};

/// What a convolution reads and writes; no more taps than samples.
pub struct Operands<'a, T: Element> {
    pub(super) signal: View<'a, T>,
    pub(super) taps: View<'a, T>,
    pub(super) output: ViewMut<'a, T>,
    /// The full convolution's index of the first output.
    pub(super) offset: usize,
}

impl<'a, T: Element> Operands<'a, T> {
    /// The output as a matrix of one row.
    fn row(self) -> (ViewMut<'a, T>, usize, usize) {
        let len = self.output.len();
        (self.output, 1, len)
    }
}

pub(crate) type ConvLaunch<T> = for<'a> fn(On<'a>, Operands<'a, T>) -> Result<(), blockwise::Error>;

/// A type with kernels that convolve.
pub trait Convolves: Element {
    /// The kernel, if there is one for the type.
    fn convolution(kernel: ConvKernel) -> Option<Routine<ConvLaunch<Self>>>;
}

macro_rules! convolves {
    ($t:ident, block_per_output: [$block_per_output:expr, $raw:expr $(,)?]) => {
        impl Convolves for $t {
            fn convolution(kernel: ConvKernel) -> Option<Routine<ConvLaunch<Self>>> {
                Some(match kernel {
                    ConvKernel::BlockPerOutput => return $block_per_output,
                    ConvKernel::BlockPerOutputRaw => return $raw,
                    ConvKernel::Tiled => some_outputs!(tiled::conv1d_tiled<$t>),
                    ConvKernel::TiledRaw => {
                        some_outputs!(unsafe raw::conv1d::conv1d_tiled_raw<$t>)
                    }
                    ConvKernel::Direct => some_outputs!(direct::conv1d_direct<$t>),
                    ConvKernel::Window => some_outputs!(window::conv1d_window<$t>),
                    ConvKernel::Blocked => some_outputs!(blocked::conv1d_blocked<$t>),
                })
            }
        }
    };
}

macro_rules! some_outputs {
    (unsafe $handle:ty) => {
        routine!(unsafe $handle, |of| (of.signal, of.taps, of.output, of.offset))
    };
    ($handle:ty) => {
        routine!($handle, |of| (of.signal, of.taps, of.output, of.offset))
    };
}

convolves!(f32, block_per_output: [None, None]);
convolves!(f64, block_per_output: [
    Some(routine!(
        block_per_output::conv1d_block_per_output_f64,
        |of| (of.signal, of.taps, of.row())
    )),
    Some(routine!(
        unsafe raw::conv1d::conv1d_block_per_output_raw_f64,
        |of| (of.signal, of.taps, of.output)
    )),
]);
