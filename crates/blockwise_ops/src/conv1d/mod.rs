//! Convolution in one dimension, with the modes of `numpy.convolve`.

mod choice;
mod fft;
mod long;
mod plan;
mod routines;

use std::num::NonZeroU32;

use blockwise::{Device, Stream, View, ViewMut};
use ndarray::{Array1, ArrayView1};

use crate::launch::On;
use crate::{Execution, Float, LaunchError, LaunchPlan, check_len, named_enum, upload};

pub use choice::{expected, saved};
pub use fft::Convolution;
use plan::Chosen;
pub use plan::{ConvPlan, plan};
pub(crate) use routines::Convolves;
pub use routines::{most_taps, points};

named_enum! {
    /// Which outputs of a convolution are computed, for operands of n and m elements.
    pub enum ConvMode("convolution mode") {
        /// All n + m − 1 of them.
        Full = "full",
        /// The central max(n, m).
        Same = "same",
        /// Those for which the operands overlap completely: max(n, m) − min(n, m) + 1.
        Valid = "valid",
    }
}

named_enum! {
    /// The kernels that convolve.
    pub enum ConvKernel("convolution kernel") {
        /// One block per output and one thread per tap, for `f64` in mode full: the MATLAB
        /// document's kernel.
        BlockPerOutput = "block-per-output",
        /// The same in rust-cuda's form.
        BlockPerOutputRaw = "block-per-output-raw",
        /// Each block loads its span of the signal and a halo into shared memory.
        Tiled = "tiled",
        /// The same in rust-cuda's form.
        TiledRaw = "tiled-raw",
        /// No shared memory: each thread reads what it needs.
        Direct = "direct",
        /// Outputs and samples in registers, for few taps; each warp copies its next tile while it
        /// computes one.
        Window = "window",
        /// Outputs and samples in registers, for any number of taps.
        Blocked = "blocked",
        /// By FFTs of 2048 points in shared memory, for `f32`, one butterfly per thread and step:
        /// the simplest FFT kernel. See [`Convolution`] for the error; this kernel loses quiet
        /// passages next to loud ones.
        FftRadix2 = "fft-radix2",
        /// The same transforms in a thread's registers, four steps at a time, for hundreds of taps.
        Fft2048 = "fft2048",
        /// The same with 4096 points, also of `f64`.
        Fft4096 = "fft4096",
        /// The same with 8192 points, of `f32`.
        Fft8192 = "fft8192",
        /// The same with 16384 points, of `f32`.
        Fft16384 = "fft16384",
        /// `fft4096` without gaps in shared memory, of `f32`: with bank conflicts.
        Fft4096Ungapped = "fft4096-ungapped",
        /// By FFTs of 65,536 points through global memory, for tens of thousands of taps, for
        /// `f32`.
        Fft65536 = "fft65536",
        /// The same with 131,072 points, also of `f64`.
        Fft131072 = "fft131072",
        /// The same with 262,144 points, of `f32`.
        Fft262144 = "fft262144",
        /// The same with 524,288 points, of `f32`.
        Fft524288 = "fft524288",
    }
}

impl ConvKernel {
    /// Whether it has one block per output, and so computes only `f64` in mode full.
    pub const fn is_block_per_output(self) -> bool {
        matches!(self, Self::BlockPerOutput | Self::BlockPerOutputRaw)
    }

    /// Whether it is an FFT kernel, which needs the memory of a [`Convolution`] and has a larger
    /// error.
    pub const fn is_fft(self) -> bool {
        matches!(
            self,
            Self::FftRadix2
                | Self::Fft2048
                | Self::Fft4096
                | Self::Fft8192
                | Self::Fft16384
                | Self::Fft4096Ungapped
        ) || self.is_long()
    }

    /// Whether it is an FFT kernel that goes through global memory.
    pub const fn is_long(self) -> bool {
        matches!(
            self,
            Self::Fft65536 | Self::Fft131072 | Self::Fft262144 | Self::Fft524288
        )
    }
}

/// A contiguous range of outputs of the full convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvOutputs {
    /// The index of the first output in the full convolution.
    pub offset: usize,
    /// The number of outputs.
    pub len: usize,
}

impl ConvMode {
    /// The outputs of this mode for operands of these lengths.
    ///
    /// # Errors
    /// When an operand is empty or the length overflows.
    pub fn outputs(self, signal_len: usize, taps_len: usize) -> Result<ConvOutputs, LaunchError> {
        for (len, what) in [(signal_len, "the signal"), (taps_len, "the list of taps")] {
            if len == 0 {
                return Err(LaunchError::EmptyInput { what });
            }
        }
        let (long, short) = (signal_len.max(taps_len), signal_len.min(taps_len));
        let (offset, len) = match self {
            ConvMode::Full => (0, full_len(long, short)?),
            ConvMode::Same => ((short - 1) / 2, long),
            ConvMode::Valid => (short - 1, long - short + 1),
        };
        Ok(ConvOutputs { offset, len })
    }
}

/// How to launch a convolution. The default chooses everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConvOptions {
    /// The kernel. `None` takes the fastest by a model of their times: for many outputs `window` or
    /// `blocked`, by the number of taps; for few outputs `tiled`, `block-per-output` where
    /// possible, or `direct`. If `threads` is given, it takes `tiled` if its shared memory fits,
    /// else `direct`. A [`Convolution`] takes an FFT kernel where that is faster.
    pub kernel: Option<ConvKernel>,
    /// Threads per block. `None` takes the kernel's default; `block-per-output` always has one per
    /// tap, and `window` and `blocked` have a fixed block size.
    pub threads: Option<u32>,
    /// The most blocks.
    pub grid_cap: Option<u32>,
    /// Tiles that a warp of `window`, or a block of `blocked`, computes one after the other. `None`
    /// takes [the policy](kernels::conv1d::policy)'s number. For FFTs through global memory, the
    /// pairs of windows per batch; `None` takes what fits 128 MiB. Other kernels ignore it.
    pub tiles_each: Option<NonZeroU32>,
}

fn full_len(long: usize, short: usize) -> Result<usize, LaunchError> {
    long.checked_add(short - 1)
        .ok_or(LaunchError::SizeOverflow {
            what: "the full convolution",
        })
}

/// Starts a convolution of n and m elements. `output` has [`ConvMode::outputs`] elements: n + m − 1
/// in mode full.
///
/// ```
/// use blockwise::Device;
/// use blockwise_ops::{ConvMode, ConvOptions, LaunchError, conv1d};
///
/// let device = Device::any()?;
/// let mut signal = device.upload(&[1.0_f32, 2.0, 3.0])?;
/// let taps = device.upload(&[0.5, 0.5])?;
/// let mut smooth = device.zeros(4)?;
/// let graph = device.graph(|stream| {
///     let (mode, options) = (ConvMode::Full, ConvOptions::default());
///     conv1d::enqueue(&device, Some(stream), &signal, &taps, &mut smooth, mode, &options).map(drop)
/// })?;
/// graph.launch()?;
/// assert_eq!(smooth.to_vec()?, [0.5, 1.5, 2.5, 1.5]);
/// signal.copy_from_slice(&[3.0, 2.0, 1.0])?;
/// graph.launch()?;
/// assert_eq!(smooth.to_vec()?, [1.5, 2.5, 1.5, 0.5]);
/// # Ok::<(), LaunchError>(())
/// ```
///
/// # Errors
/// Those of [`plan`], an output of the wrong length, and failures of the device.
pub fn enqueue<'a, T: Float>(
    device: &Device,
    stream: Option<&Stream>,
    signal: impl Into<View<'a, T>>,
    taps: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, T>>,
    mode: ConvMode,
    options: &ConvOptions,
) -> Result<LaunchPlan, LaunchError> {
    let (signal, taps) = (signal.into(), taps.into());
    let outputs = mode.outputs(signal.len(), taps.len())?;
    let output = output.into();
    enqueue_outputs(device, stream, signal, taps, output, mode, outputs, options)
}

/// Starts the outputs of `mode`, or a part of them. Kernels with one block per output compute no
/// parts.
#[allow(clippy::too_many_arguments, reason = "`enqueue`'s, and which outputs")]
pub(crate) fn enqueue_outputs<T: Float>(
    device: &Device,
    stream: Option<&Stream>,
    signal: View<'_, T>,
    taps: View<'_, T>,
    output: ViewMut<'_, T>,
    mode: ConvMode,
    outputs: ConvOutputs,
    options: &ConvOptions,
) -> Result<LaunchPlan, LaunchError> {
    let properties = device.properties();
    let (plan, chosen) =
        plan::prepare::<T>(signal.len(), taps.len(), mode, outputs, options, properties)?;
    check_len("output", output.len(), plan.output_len)?;
    let Chosen::Direct(launch) = chosen else {
        return Err(LaunchError::NeedsMemory {
            kernel: plan.kernel.name(),
        });
    };
    let (signal, taps) = match plan.swapped {
        true => (taps, signal),
        false => (signal, taps),
    };
    let operands = routines::Operands {
        signal,
        taps,
        output,
        offset: plan.offset,
    };
    let on = On::new(device, stream, &plan.launch);
    launch(on, operands)?;
    Ok(plan.launch)
}

/// Convolves two operands on the device as a [`Convolution`] does, and waits.
///
/// # Errors
/// Those of [`Convolution::new`] and [`Convolution::enqueue`].
pub fn convolve_buffers<'a, T: Float>(
    device: &Device,
    signal: impl Into<View<'a, T>>,
    taps: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, T>>,
    mode: ConvMode,
    options: &ConvOptions,
) -> Result<Execution, LaunchError> {
    let (signal, taps) = (signal.into(), taps.into());
    let mut convolution = Convolution::once(device, signal.len(), taps.len(), mode, options)?;
    Execution::of(device, || convolution.enqueue(None, signal, taps, output))
}

/// Convolves `signal` with `taps`: y\[i\] = Σ taps\[k\] · signal\[i − k\], as `numpy.convolve`
/// does.
///
/// ```
/// use blockwise::Device;
/// use blockwise_ops::{ConvMode, ConvOptions, convolve};
/// use ndarray::array;
///
/// let device = Device::any()?;
/// let (signal, taps) = (array![1.0, 2.0, 3.0], array![0.5, 0.5]);
/// let smooth = convolve(&device, signal.view(), taps.view(), ConvMode::Full, &ConvOptions::default())?;
/// assert_eq!(smooth, array![0.5, 1.5, 2.5, 1.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`convolve_buffers`].
pub fn convolve<T: Float>(
    device: &Device,
    signal: ArrayView1<'_, T>,
    taps: ArrayView1<'_, T>,
    mode: ConvMode,
    options: &ConvOptions,
) -> Result<Array1<T>, LaunchError> {
    // Refused before anything is copied.
    let mut convolution = Convolution::once(device, signal.len(), taps.len(), mode, options)?;
    let signal = upload(device, &signal)?;
    let taps = upload(device, &taps)?;
    let mut output = device.zeros(convolution.output_len())?;
    convolution.enqueue(None, &signal, &taps, &mut output)?;
    Ok(Array1::from_vec(output.to_vec()?))
}
