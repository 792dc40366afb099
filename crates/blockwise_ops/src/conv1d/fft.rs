//! Convolutions with the memory that they need.

use blockwise::{Buffer, Device, DeviceProperties, Stream, View, ViewMut};
use kernels::conv1d::fft::shape::shift;

use super::choice::{self, Calls, Task};
use super::long::Long;
use super::plan::{Chosen, prepare};
use super::routines::{FftOperands, FftRoutines, Operands, TapsOperands};
use super::{ConvKernel, ConvMode, ConvOptions, ConvOutputs, enqueue_outputs};
use crate::launch::On;
use crate::limits::plan_1d;
use crate::{Float, LaunchError, LaunchPlan, check_len};

/// A convolution of operands of given lengths, with the memory that its kernel needs.
///
/// From 64 taps on, where that is faster, it uses fast Fourier transforms: it transforms two
/// windows of N samples together, multiplies by the taps' transform, and transforms back. A block
/// does all of it in shared memory; for many taps, the transforms go through global memory. More
/// than 393,185 taps (98,273 of `f64`) are summed directly.
///
/// **Error.** An output then differs from the exact one by at most 16·u·log₂N·Σ|taps|·max|samples|,
/// where the maximum is over the samples less than one filter's length away from the output's own
/// window, and u is the unit roundoff: a quiet passage keeps its digits next to a loud one. If all
/// those samples are zero, so is the output. The bound of a direct sum is m·u·Σ|tap·sample| for m
/// taps. [`oracle::transform_error`](crate::oracle::transform_error) computes the bound. The
/// constant holds with a margin of four on every signal that was tried, but is not proved: the
/// proved bound of an FFT has the norm of the window in place of the maximum. Below the normal
/// numbers the terms' rounding errors add to it, as in direct sums.
///
/// A block whose samples differ that much in loudness is transformed in parts by loudness, each
/// added to the outputs that it reaches: twice to a few times the work, on the device, for that
/// block alone. [`ConvKernel::FftRadix2`], the simplest FFT kernel, has the bound with the maximum
/// over its two windows, and is never the default.
///
/// An infinity, a NaN or a sample so large that a sum might overflow reaches only the outputs whose
/// windows contain it: those are direct sums, with the bits of [`ConvKernel::Direct`] except for
/// those of NaN.
pub struct Convolution<T: Float> {
    device: Device,
    lengths: [usize; 2],
    mode: ConvMode,
    outputs: ConvOutputs,
    kernel: ConvKernel,
    options: ConvOptions,
    memory: Held<T>,
}

/// A kernel's memory.
enum Held<T: Float> {
    Nothing,
    Fft(Fft<T>),
    Long(Long<T>),
}

/// The memory of a convolution by FFT.
struct Fft<T: Float> {
    routines: FftRoutines<T>,
    plan_taps: LaunchPlan,
    factors: Buffer<T>,
    spectrum: Buffer<T>,
}

impl<T: Float> Convolution<T> {
    /// Chooses the kernel for many calls, and allocates its memory: at most 1 MiB, and 150 MiB for
    /// FFTs through global memory.
    ///
    /// # Errors
    /// Those of [`plan`](super::plan()), and a lack of memory.
    pub fn new(
        device: &Device,
        signal_len: usize,
        taps_len: usize,
        mode: ConvMode,
        options: &ConvOptions,
    ) -> Result<Self, LaunchError> {
        Self::with(device, [signal_len, taps_len], mode, options, Calls::Many)
    }

    /// As [`new`](Self::new), for a single call: its choice includes the time to allocate.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn once(
        device: &Device,
        signal_len: usize,
        taps_len: usize,
        mode: ConvMode,
        options: &ConvOptions,
    ) -> Result<Self, LaunchError> {
        Self::with(device, [signal_len, taps_len], mode, options, Calls::One)
    }

    fn with(
        device: &Device,
        [signal_len, taps_len]: [usize; 2],
        mode: ConvMode,
        options: &ConvOptions,
        calls: Calls,
    ) -> Result<Self, LaunchError> {
        let outputs = mode.outputs(signal_len, taps_len)?;
        let properties = device.properties();
        let untouched = options.threads.is_none() && options.tiles_each.is_none();
        let chosen = || {
            let lengths = [signal_len, taps_len];
            if let Some(saved) = choice::saved::<T>(mode, lengths, properties) {
                return Some(saved).filter(|_| untouched);
            }
            let task = Task::new(lengths, mode, outputs, properties);
            let kernel = untouched.then(|| choice::fastest::<T>(task, calls))?;
            // `prepare` chooses among the others, because it knows their shared memory.
            kernel.is_fft().then_some(kernel)
        };
        let options = ConvOptions {
            kernel: options.kernel.or_else(chosen),
            ..*options
        };
        let (plan, chosen) =
            prepare::<T>(signal_len, taps_len, mode, outputs, &options, properties)?;
        let memory = match chosen {
            Chosen::Direct(_) => Held::Nothing,
            Chosen::Fft(routines) => Held::Fft(Fft::new(device, routines, properties)?),
            Chosen::Long(routines, batches) => Held::Long(Long::new(device, routines, batches)?),
        };
        Ok(Self {
            device: device.clone(),
            lengths: [signal_len, taps_len],
            mode,
            outputs,
            kernel: plan.kernel,
            options,
            memory,
        })
    }

    /// The kernel that was chosen.
    pub fn kernel(&self) -> ConvKernel {
        self.kernel
    }

    /// The number of outputs.
    pub fn output_len(&self) -> usize {
        self.outputs.len
    }

    /// Starts a convolution of operands of the given lengths: one launch, or two in order.
    ///
    /// # Errors
    /// An operand of the wrong length, and errors of the device.
    pub fn enqueue<'a>(
        &mut self,
        stream: Option<&Stream>,
        signal: impl Into<View<'a, T>>,
        taps: impl Into<View<'a, T>>,
        output: impl Into<ViewMut<'a, T>>,
    ) -> Result<LaunchPlan, LaunchError> {
        let (signal, taps) = (signal.into(), taps.into());
        check_len("the signal", signal.len(), self.lengths[0])?;
        check_len("the taps", taps.len(), self.lengths[1])?;
        self.enqueue_outputs(stream, signal, taps, output, self.outputs)
    }

    /// Starts some outputs of the full convolution of a signal of any length, which is a part of
    /// the one that this was created for, with all samples that those outputs need.
    ///
    /// # Errors
    /// An output of the wrong length, and failures of the device.
    pub fn enqueue_outputs<'a>(
        &mut self,
        stream: Option<&Stream>,
        signal: impl Into<View<'a, T>>,
        taps: impl Into<View<'a, T>>,
        output: impl Into<ViewMut<'a, T>>,
        outputs: ConvOutputs,
    ) -> Result<LaunchPlan, LaunchError> {
        let (signal, taps, output) = (signal.into(), taps.into(), output.into());
        let (device, options) = (&self.device, &self.options);
        if let Held::Nothing = self.memory {
            return enqueue_outputs(
                device, stream, signal, taps, output, self.mode, outputs, options,
            );
        }
        let (plan, _) = prepare::<T>(
            signal.len(),
            taps.len(),
            self.mode,
            outputs,
            options,
            device.properties(),
        )?;
        check_len("output", output.len(), plan.output_len)?;
        let (signal, taps) = match plan.swapped {
            true => (taps, signal),
            false => (signal, taps),
        };
        let of = Operands {
            signal,
            taps,
            output,
            offset: plan.offset,
        };
        match &mut self.memory {
            Held::Nothing => {}
            Held::Fft(fft) => fft.enqueue(device, stream, of, &plan.launch)?,
            Held::Long(long) => long.enqueue(device, stream, of, options)?,
        }
        Ok(plan.launch)
    }
}

impl<T: Float> Fft<T> {
    fn new(
        device: &Device,
        routines: FftRoutines<T>,
        properties: &DeviceProperties,
    ) -> Result<Self, LaunchError> {
        Ok(Self {
            plan_taps: plan_1d(
                routines.taps.entry.name,
                1,
                routines.threads,
                routines.shared_bytes as u64,
                properties,
            )?,
            factors: device.upload((routines.factors)())?,
            spectrum: device.zeros(routines.spectrum_len)?,
            routines,
        })
    }

    fn enqueue(
        &mut self,
        device: &Device,
        stream: Option<&Stream>,
        of: Operands<'_, T>,
        plan: &LaunchPlan,
    ) -> Result<(), LaunchError> {
        let shift = shift(of.offset);
        let on = |plan| On::new(device, stream, plan);
        let operands = TapsOperands {
            taps: of.taps,
            factors: self.factors.as_view(),
            spectrum: self.spectrum.as_view_mut(),
            shift,
        };
        (self.routines.taps.launch)(on(&self.plan_taps), operands)?;
        let operands = FftOperands {
            of,
            spectrum: self.spectrum.as_view(),
            factors: self.factors.as_view(),
            shift,
        };
        (self.routines.convolve.launch)(on(plan), operands)?;
        Ok(())
    }
}
