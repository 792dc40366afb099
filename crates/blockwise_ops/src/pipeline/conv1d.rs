//! Convolution of a signal of any length.

use std::ops::Range;

use blockwise::{Buffer, Device, StagedBuffer, Stream};

use super::{Ring, fit};
use crate::conv1d::plan;
use crate::{ConvMode, ConvOptions, ConvOutputs, Convolution, Float, LaunchError};

/// Convolves a signal that arrives in chunks. Outputs come in order and equal those of
/// [`convolve`](crate::convolve), whatever the chunks.
///
/// Each chunk is launched with the preceding samples that its outputs need, so a launch never pads
/// inside the signal, and adds up the same terms as the launch of the whole: the bits are the same,
/// except for kernels by transforms, whose windows then start elsewhere.
///
/// ```
/// use blockwise::Device;
/// use blockwise_ops::pipeline::Convolver;
/// use blockwise_ops::{ConvMode, ConvOptions, LaunchError};
///
/// let device = Device::any()?;
/// // 6 samples, 4 at a time.
/// let (mode, options) = (ConvMode::Same, ConvOptions::default());
/// let mut convolver = Convolver::new(&device, 6, &[0.5_f32, 0.5], mode, &options, 4)?;
/// let mut samples = (1..=6).map(|i| i as f32);
/// let mut smooth = Vec::new();
/// let mut emit = |outputs: &[f32]| -> Result<(), LaunchError> {
///     smooth.extend_from_slice(outputs);
///     Ok(())
/// };
/// while convolver.next_len() > 0 {
///     let fill = |chunk: &mut [f32]| {
///         chunk.fill_with(|| samples.next().unwrap_or_default());
///         Ok(())
///     };
///     convolver.push(fill, &mut emit)?;
/// }
/// convolver.finish(&mut emit)?;
/// assert_eq!(smooth, [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]);
/// # Ok::<(), LaunchError>(())
/// ```
pub struct Convolver<T: Float> {
    taps: Buffer<T>,
    /// The samples that the outputs need, by their index in the signal.
    samples: Range<usize>,
    /// The outputs that are wanted, by their index in the full convolution.
    wanted: Range<usize>,
    chunk: usize,
    /// The index of the next sample that arrives.
    arrived: usize,
    /// The last of them, which the next chunk's first output needs.
    halo: Vec<T>,
    lanes: Ring<Lane<T>>,
}

/// The resources of one chunk.
struct Lane<T: Float> {
    stream: Stream,
    convolution: Convolution<T>,
    window: Option<StagedBuffer<T>>,
    output: Option<StagedBuffer<T>>,
}

impl<T: Float> Convolver<T> {
    /// Convolves `signal_len` samples, in chunks of at most `chunk` samples, but at least as many
    /// as taps.
    ///
    /// The kernels with a block per output cannot compute a part of the outputs: their only chunk
    /// is the whole signal.
    ///
    /// # Errors
    /// Those of [`plan`](crate::conv1d::plan), more taps than samples, and no memory for the taps.
    pub fn new(
        device: &Device,
        signal_len: usize,
        taps: &[T],
        mode: ConvMode,
        options: &ConvOptions,
        chunk: usize,
    ) -> Result<Self, LaunchError> {
        let outputs = mode.outputs(signal_len, taps.len())?.len;
        Self::part(device, signal_len, taps, mode, 0..outputs, options, chunk)
    }

    /// The same for some of the outputs, by their index in those of the mode. Only the [samples](Self::samples) that they need arrive.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    ///
    /// # Panics
    /// When there are no such outputs.
    pub fn part(
        device: &Device,
        signal_len: usize,
        taps: &[T],
        mode: ConvMode,
        outputs: Range<usize>,
        options: &ConvOptions,
        chunk: usize,
    ) -> Result<Self, LaunchError> {
        // Every limit is checked here, before any sample is read.
        let whole = plan::<T>(signal_len, taps.len(), mode, options, device.properties())?;
        if whole.swapped {
            return Err(LaunchError::ShapeMismatch {
                left_name: "the signal",
                left: vec![signal_len],
                right_name: "the taps",
                right: vec![taps.len()],
                rule: "the longer operand is the one that arrives in chunks",
            });
        }
        assert!(
            outputs.end <= whole.output_len,
            "there are {} outputs",
            whole.output_len
        );
        let wanted = whole.offset + outputs.start..whole.offset + outputs.end;
        // With fewer samples than taps a launch would exchange the two, and add in another order.
        let first = (wanted.start + 1).saturating_sub(taps.len());
        let first = first.min(signal_len - taps.len());
        let samples = first..wanted.end.max(first + taps.len()).min(signal_len);
        let chunk = match options.kernel {
            Some(kernel) if kernel.is_block_per_output() => signal_len,
            _ => chunk.clamp(taps.len(), signal_len),
        };
        let lane = |stream| {
            Ok(Lane {
                stream,
                convolution: Convolution::new(device, signal_len, taps.len(), mode, options)?,
                window: None,
                output: None,
            })
        };
        Ok(Self {
            taps: device.upload(taps)?,
            arrived: samples.start,
            samples,
            wanted,
            chunk,
            halo: Vec::new(),
            lanes: Ring::new(device, lane)?,
        })
    }

    /// The total number of outputs.
    pub fn output_len(&self) -> usize {
        self.wanted.len()
    }

    /// The samples that arrive, by their index in the signal.
    pub fn samples(&self) -> Range<usize> {
        self.samples.clone()
    }

    /// The number of samples that the next [`push`](Self::push) asks for; 0 after the last.
    pub fn next_len(&self) -> usize {
        self.chunk.min(self.samples.end - self.arrived)
    }

    /// Lets `fill` write the next [`next_len`](Self::next_len) samples, and starts their chunk. If
    /// all streams are busy, it first waits for the oldest chunk and passes its outputs to `emit`.
    ///
    /// # Errors
    /// Those of the closures, and errors of the device. After an error the convolution cannot
    /// continue.
    pub fn push<E: From<LaunchError>>(
        &mut self,
        fill: impl FnOnce(&mut [T]) -> Result<(), E>,
        emit: impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        let len = self.next_len();
        if len == 0 {
            return Ok(());
        }
        let outputs = self.outputs_of(len);
        let lane = self.lanes.turn(|lane| lane.finish(emit))?;
        let window_len = self.halo.len() + len;
        let window = fit(&mut lane.window, &lane.stream, window_len)?;
        let samples = window.host().map_err(LaunchError::from)?;
        samples[..self.halo.len()].copy_from_slice(&self.halo);
        fill(&mut samples[self.halo.len()..])?;

        let first = self.arrived - self.halo.len();
        self.arrived += len;
        // The first output of the next chunk needs one sample fewer than there are taps before it.
        self.halo.clear();
        let kept = window_len.min(self.taps.len() - 1);
        self.halo.extend_from_slice(&samples[window_len - kept..]);

        let output = fit(&mut lane.output, &lane.stream, outputs.len())?;
        if !outputs.is_empty() {
            let part = ConvOutputs {
                offset: outputs.start - first,
                len: outputs.len(),
            };
            window.upload().map_err(LaunchError::from)?;
            lane.convolution.enqueue_outputs(
                Some(&lane.stream),
                window.device().as_view(),
                self.taps.as_view(),
                output.device_mut(),
                part,
            )?;
            output.download().map_err(LaunchError::from)?;
        }
        Ok(())
    }

    /// Waits for the chunks in flight and passes their outputs to `emit`.
    ///
    /// # Errors
    /// Those of the closure, and what goes wrong on the device.
    pub fn finish<E: From<LaunchError>>(
        mut self,
        mut emit: impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.lanes.drain(|lane| lane.finish(&mut emit))
    }

    /// The outputs that the next `len` samples complete; the last chunk brings those after the signal too.
    fn outputs_of(&self, len: usize) -> Range<usize> {
        let end = match self.arrived + len {
            end if end == self.samples.end => self.wanted.end,
            end => end.clamp(self.wanted.start, self.wanted.end),
        };
        let start = self.arrived.clamp(self.wanted.start, end);
        start..end
    }
}

impl<T: Float> Lane<T> {
    /// Waits for the chunk and passes on its outputs.
    fn finish<E: From<LaunchError>>(
        &mut self,
        mut emit: impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(output) = &mut self.output {
            let outputs = output.host().map_err(LaunchError::from)?;
            if !outputs.is_empty() {
                emit(outputs)?;
            }
        }
        Ok(())
    }
}
