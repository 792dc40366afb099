//! The convolutions' kernels by type.

use std::sync::OnceLock;

use blockwise::{View, ViewMut};
use kernels::conv1d::fft::kernels as entries;
use kernels::conv1d::fft::shape::{self, Shape};
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

/// What a convolution by transforms reads and writes.
pub(crate) struct FftOperands<'a, T: Element> {
    pub(super) of: Operands<'a, T>,
    pub(super) spectrum: View<'a, T>,
    pub(super) factors: View<'a, T>,
    pub(super) shift: usize,
}

/// The taps and where their spectrum goes.
pub(crate) struct TapsOperands<'a, T: Element> {
    pub(super) taps: View<'a, T>,
    pub(super) factors: View<'a, T>,
    pub(super) spectrum: ViewMut<'a, T>,
    pub(super) shift: usize,
}

pub(crate) type FftLaunch<T> =
    for<'a> fn(On<'a>, FftOperands<'a, T>) -> Result<(), blockwise::Error>;
pub(crate) type TapsLaunch<T> =
    for<'a> fn(On<'a>, TapsOperands<'a, T>) -> Result<(), blockwise::Error>;

/// The kernels that convolve by transforms of one shape, and what they need.
pub struct FftRoutines<T: Element> {
    pub(super) points: usize,
    pub(super) threads: u32,
    pub(super) shared_bytes: usize,
    pub(super) most_taps: usize,
    pub(super) spectrum_len: usize,
    /// The table of factors, which the first call computes.
    pub(super) factors: fn() -> &'static [T],
    pub(super) taps: Routine<TapsLaunch<T>>,
    pub(super) convolve: Routine<FftLaunch<T>>,
}

/// A type with kernels that convolve.
pub trait Convolves: Element {
    /// The kernels that convolve by transforms, if there are such for the type.
    fn fft(kernel: ConvKernel) -> Option<FftRoutines<Self>>;
    /// The kernel, if there is one for the type.
    fn convolution(kernel: ConvKernel) -> Option<Routine<ConvLaunch<Self>>>;
}

macro_rules! convolves {
    ($t:ident, block_per_output: [$block_per_output:expr, $raw:expr $(,)?], fft: {$($Fft:ident: $Shape:ident, $taps:ident, $convolve:ident;)*}) => {
        impl Convolves for $t {
            fn fft(kernel: ConvKernel) -> Option<FftRoutines<Self>> {
                match kernel {
                    $( ConvKernel::$Fft => Some(fft!(
                        $t,
                        shape::$Shape,
                        entries::$taps<$t>,
                        entries::$convolve<$t>
                    )), )*
                    _ => None,
                }
            }

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
                    _ => return None,
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

macro_rules! fft {
    ($t:ident, $Shape:ty, $taps:ty, $convolve:ty) => {
        FftRoutines {
            points: <$Shape as Shape>::POINTS,
            threads: <$Shape as Shape>::THREADS as u32,
            shared_bytes: shape::shared_bytes::<$Shape, Self>(),
            most_taps: shape::most_taps::<$Shape>(),
            spectrum_len: shape::spectrum_len::<$Shape>(),
            factors: || {
                static TABLE: OnceLock<Vec<$t>> = OnceLock::new();
                TABLE.get_or_init(|| {
                    let factors = shape::factors::<$Shape>();
                    let parts = factors.as_flattened().iter();
                    parts.map(|&part| part as $t).collect()
                })
            },
            taps: routine!($taps, |of| (of.taps, of.factors, of.spectrum, of.shift)),
            convolve: routine!($convolve, |with| (
                with.of.signal,
                with.of.taps,
                with.spectrum,
                with.factors,
                with.of.output,
                with.of.offset,
                with.shift
            )),
        }
    };
}

convolves!(f32, block_per_output: [None, None], fft: {
    Fft2048: Points2048, conv1d_taps_fft2048, conv1d_fft2048;
    Fft4096: Points4096, conv1d_taps_fft4096, conv1d_fft4096;
    Fft8192: Points8192, conv1d_taps_fft8192, conv1d_fft8192;
    Fft16384: Points16384, conv1d_taps_fft16384, conv1d_fft16384;
    Fft4096Ungapped: Ungapped4096, conv1d_taps_fft4096_ungapped, conv1d_fft4096_ungapped;
});
convolves!(f64, block_per_output: [
    Some(routine!(
        block_per_output::conv1d_block_per_output_f64,
        |of| (of.signal, of.taps, of.row())
    )),
    Some(routine!(
        unsafe raw::conv1d::conv1d_block_per_output_raw_f64,
        |of| (of.signal, of.taps, of.output)
    )),
], fft: {
    Fft4096: Points4096, conv1d_taps_fft4096_wide, conv1d_fft4096_wide;
});
