//! The convolution kernels for each type.

use std::sync::OnceLock;

use blockwise::{View, ViewMut};
use kernels::conv1d::fft::kernels as entries;
use kernels::conv1d::fft::shape::{self, Shape};
use kernels::conv1d::fft::{columns, levels, radix2, rows};
use kernels::conv1d::{block_per_output, blocked, direct, tiled, window};
use kernels::raw;

use super::ConvKernel;
use crate::launch::{On, Routine, routine};
use crate::{Element, Float};

/// The operands and outputs of a convolution; at most as many taps as samples.
pub struct Operands<'a, T: Element> {
    pub(super) signal: View<'a, T>,
    pub(super) taps: View<'a, T>,
    pub(super) output: ViewMut<'a, T>,
    /// The index of the first output in the full convolution.
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

/// The operands and outputs of a convolution by FFT.
pub(crate) struct FftOperands<'a, T: Element> {
    pub(super) of: Operands<'a, T>,
    pub(super) spectrum: View<'a, T>,
    pub(super) factors: View<'a, T>,
    pub(super) shift: usize,
}

/// The taps, and the memory for their spectrum.
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

/// The FFT kernels of one shape, and their requirements.
pub struct FftRoutines<T: Element> {
    pub(super) points: usize,
    pub(super) threads: u32,
    pub(super) shared_bytes: usize,
    pub(super) most_taps: usize,
    /// Points at the start of a window that give no output, by the taps and their shift.
    pub(super) discarded: fn(usize, usize) -> usize,
    pub(super) spectrum_len: usize,
    /// The table of twiddle factors, which the first call computes.
    pub(super) factors: fn() -> &'static [T],
    pub(super) taps: Routine<TapsLaunch<T>>,
    pub(super) convolve: Routine<FftLaunch<T>>,
}

/// The inputs and outputs of the column transforms of windows and taps.
pub(crate) struct ColumnsOperands<'a, T: Element> {
    pub(super) signal: View<'a, T>,
    pub(super) taps: View<'a, T>,
    pub(super) roots: View<'a, T>,
    pub(super) points: ViewMut<'a, T>,
    pub(super) marks: ViewMut<'a, u32>,
    pub(super) columns: usize,
    pub(super) start: usize,
    pub(super) kept: usize,
    pub(super) pairs: usize,
    pub(super) shift: usize,
}

/// The taps' rows, and the memory for their spectrum.
pub(crate) struct TapsRowsOperands<'a, T: Element> {
    pub(super) points: View<'a, T>,
    pub(super) marks: View<'a, u32>,
    pub(super) factors: View<'a, T>,
    pub(super) spectrum: ViewMut<'a, T>,
}

/// Rows, which are changed in place.
pub(crate) struct RowsOperands<'a, T: Element> {
    pub(super) spectrum: View<'a, T>,
    pub(super) factors: View<'a, T>,
    pub(super) points: ViewMut<'a, T>,
}

/// The columns of products, and the memory for the outputs.
pub(crate) struct OutputsOperands<'a, T: Element> {
    pub(super) points: View<'a, T>,
    pub(super) roots: View<'a, T>,
    pub(super) output: ViewMut<'a, T>,
    pub(super) columns: usize,
    pub(super) discarded: usize,
}

/// The inputs for recomputing pairs of windows with a large range of loudness.
pub(crate) struct LevelsOperands<'a, T: Element> {
    pub(super) of: Operands<'a, T>,
    pub(super) spectrum: View<'a, T>,
    pub(super) factors: View<'a, T>,
    pub(super) roots: View<'a, T>,
    pub(super) marks: View<'a, u32>,
    pub(super) points: ViewMut<'a, T>,
    pub(super) shift: usize,
}

pub(crate) type ColumnsLaunch<T> =
    for<'a> fn(On<'a>, ColumnsOperands<'a, T>) -> Result<(), blockwise::Error>;
pub(crate) type TapsRowsLaunch<T> =
    for<'a> fn(On<'a>, TapsRowsOperands<'a, T>) -> Result<(), blockwise::Error>;
pub(crate) type RowsLaunch<T> =
    for<'a> fn(On<'a>, RowsOperands<'a, T>) -> Result<(), blockwise::Error>;
pub(crate) type OutputsLaunch<T> =
    for<'a> fn(On<'a>, OutputsOperands<'a, T>) -> Result<(), blockwise::Error>;
pub(crate) type LevelsLaunch<T> =
    for<'a> fn(On<'a>, LevelsOperands<'a, T>) -> Result<(), blockwise::Error>;

/// The FFT kernels of one length that go through global memory.
pub struct LongRoutines<T: Element> {
    /// Points per row.
    pub(super) columns: usize,
    /// Threads per row.
    pub(super) threads: u32,
    /// Shared memory for the rows, for the taps' rows, and for the loudness levels.
    pub(super) shared_bytes: [usize; 3],
    pub(super) spectrum_len: usize,
    /// The marks of a pair of windows.
    pub(super) marks_len: usize,
    pub(super) factors: fn() -> &'static [T],
    pub(super) roots: fn() -> &'static [T],
    pub(super) load: Routine<ColumnsLaunch<T>>,
    pub(super) taps: Routine<TapsRowsLaunch<T>>,
    pub(super) rows: Routine<RowsLaunch<T>>,
    pub(super) store: Routine<OutputsLaunch<T>>,
    pub(super) levels: Routine<LevelsLaunch<T>>,
}

/// A type with convolution kernels.
pub trait Convolves: Element {
    /// The FFT kernels that go through global memory, if the type has them.
    fn long(kernel: ConvKernel) -> Option<LongRoutines<Self>>;
    /// The FFT kernels, if the type has them.
    fn fft(kernel: ConvKernel) -> Option<FftRoutines<Self>>;
    /// The kernel, if the type has it.
    fn convolution(kernel: ConvKernel) -> Option<Routine<ConvLaunch<Self>>>;
}

macro_rules! convolves {
    ($t:ident, block_per_output: [$block_per_output:expr, $raw:expr $(,)?], radix2: [$($radix2:expr)?], fft: {$($Fft:ident: $Shape:ident, $taps:ident, $convolve:ident;)*}, long ($load:ident, $store:ident): {$($Long:ident: $Row:ident, $taps_rows:ident, $rows:ident, $levels:ident;)*}) => {
        impl Convolves for $t {
            fn long(kernel: ConvKernel) -> Option<LongRoutines<Self>> {
                match kernel {
                    $( ConvKernel::$Long => Some(long!(
                        $t,
                        shape::$Row,
                        rows::$taps_rows<$t>,
                        rows::$rows<$t>,
                        columns::$load<$t>,
                        columns::$store<$t>,
                        levels::$levels<$t>
                    )), )*
                    _ => None,
                }
            }

            fn fft(kernel: ConvKernel) -> Option<FftRoutines<Self>> {
                match kernel {
                    $( ConvKernel::FftRadix2 => Some($radix2), )?
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

/// A table of complex numbers in a kernel's type.
macro_rules! table {
    ($t:ident, $table:expr) => {
        || {
            static TABLE: OnceLock<Vec<$t>> = OnceLock::new();
            TABLE.get_or_init(|| {
                let table = $table;
                let parts = table.as_flattened().iter();
                parts.map(|&part| part as $t).collect()
            })
        }
    };
}

macro_rules! long {
    ($t:ident, $Row:ty, $taps:ty, $rows:ty, $load:ty, $store:ty, $levels:ty) => {
        LongRoutines {
            columns: <$Row as Shape>::POINTS,
            threads: <$Row as Shape>::THREADS as u32,
            shared_bytes: [
                shape::transform_bytes::<$Row, Self>(),
                shape::taps_rows_bytes::<$Row, Self>(),
                shape::levels_bytes::<$Row, Self>(),
            ],
            spectrum_len: shape::long_spectrum_len::<$Row>(),
            marks_len: shape::marks_len(<$Row as Shape>::POINTS),
            factors: table!($t, shape::factors::<$Row>()),
            roots: table!($t, columns::roots(<$Row as Shape>::POINTS)),
            load: routine!($load, |of| (
                of.signal, of.taps, of.roots, of.points, of.marks, of.columns, of.start, of.kept,
                of.pairs, of.shift
            )),
            taps: routine!($taps, |of| (of.points, of.marks, of.factors, of.spectrum)),
            rows: routine!($rows, |of| (of.spectrum, of.factors, of.points)),
            store: routine!($store, |with| (
                with.points,
                with.roots,
                with.output,
                with.columns,
                with.discarded
            )),
            levels: routine!($levels, |with| (
                with.of.signal,
                with.of.taps,
                with.spectrum,
                with.factors,
                with.roots,
                with.marks,
                with.points,
                with.of.output,
                with.of.offset,
                with.shift
            )),
        }
    };
}

macro_rules! fft {
    ($t:ident, $Shape:ty, $taps:ty, $convolve:ty) => {
        FftRoutines {
            points: <$Shape as Shape>::POINTS,
            threads: <$Shape as Shape>::THREADS as u32,
            shared_bytes: shape::shared_bytes::<$Shape, Self>(),
            most_taps: shape::most_taps::<$Shape>(),
            discarded: shape::discarded,
            spectrum_len: shape::spectrum_len::<$Shape>(),
            factors: table!($t, shape::factors::<$Shape>()),
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

/// Half of a window of the radix-2 kernel is old samples, whatever the taps, and nothing is
/// shifted.
fn radix2() -> FftRoutines<f32> {
    FftRoutines {
        points: radix2::POINTS,
        threads: radix2::THREADS,
        shared_bytes: 0,
        most_taps: radix2::MOST_TAPS,
        discarded: |_, _| radix2::POINTS / 2,
        spectrum_len: 2 * radix2::POINTS,
        factors: table!(f32, radix2::roots()),
        taps: routine!(radix2::conv1d_taps_fft_radix2, |of| (
            of.taps,
            of.factors,
            of.spectrum
        )),
        convolve: routine!(radix2::conv1d_fft_radix2, |with| (
            with.of.signal,
            with.of.taps,
            with.spectrum,
            with.factors,
            with.of.output,
            with.of.offset
        )),
    }
}

convolves!(f32, block_per_output: [None, None], radix2: [radix2()], fft: {
    Fft2048: Points2048, conv1d_taps_fft2048, conv1d_fft2048;
    Fft4096: Points4096, conv1d_taps_fft4096, conv1d_fft4096;
    Fft8192: Points8192, conv1d_taps_fft8192, conv1d_fft8192;
    Fft16384: Points16384, conv1d_taps_fft16384, conv1d_fft16384;
    Fft4096Ungapped: Ungapped4096, conv1d_taps_fft4096_ungapped, conv1d_fft4096_ungapped;
}, long (conv1d_fft_columns, conv1d_fft_outputs): {
    Fft65536: Points2048, conv1d_fft_taps_rows2048, conv1d_fft_rows2048, conv1d_fft_levels2048;
    Fft131072: Points4096, conv1d_fft_taps_rows4096, conv1d_fft_rows4096, conv1d_fft_levels4096;
    Fft262144: Points8192, conv1d_fft_taps_rows8192, conv1d_fft_rows8192, conv1d_fft_levels8192;
    Fft524288: Points16384, conv1d_fft_taps_rows16384, conv1d_fft_rows16384, conv1d_fft_levels16384;
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
], radix2: [], fft: {
    Fft4096: Points4096, conv1d_taps_fft4096_wide, conv1d_fft4096_wide;
}, long (conv1d_fft_columns_wide, conv1d_fft_outputs_wide): {
    Fft131072: Points4096, conv1d_fft_taps_rows4096_wide, conv1d_fft_rows4096_wide, conv1d_fft_levels4096_wide;
});

/// The most taps of an FFT kernel; `None` for other kernels, and for types without FFT kernels.
pub fn most_taps<T: Float>(kernel: ConvKernel) -> Option<usize> {
    let in_shared_memory = T::fft(kernel).map(|routines| routines.most_taps);
    in_shared_memory
        .or_else(|| T::long(kernel).map(|routines| shape::quarter_kept(routines.points())))
}

/// The points of a kernel's FFTs; `None` as for [`most_taps`].
pub fn points<T: Float>(kernel: ConvKernel) -> Option<usize> {
    let in_shared_memory = T::fft(kernel).map(|routines| routines.points);
    in_shared_memory.or_else(|| T::long(kernel).map(|routines| routines.points()))
}
