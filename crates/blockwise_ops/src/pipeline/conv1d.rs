//! Convolution of a signal of any length.

use std::ops::Range;

use blockwise::{AnyView, Buffer, Device, Event, StagedBuffer, Stream};

use super::ring::{Ring, fit};
use super::times::DeviceTimes;
use crate::conv1d::{self, CONV};
use crate::operation::{self, Call, Operation, Options, Parts, Problem};
use crate::{ConvMode, Float, LaunchError};

/// Convolves a signal of one or more channels that arrives in chunks. Outputs come in order and
/// equal those of [`convolve`](crate::convolve), whatever the chunks.
///
/// Each chunk is launched with the preceding samples that its outputs need, so a launch never pads
/// inside the signal, and adds the same terms as the launch of the whole: the bits are the same,
/// except for FFT kernels, whose windows then start elsewhere.
///
/// ```
/// use blockwise::Device;
/// use blockwise_ops::pipeline::Convolver;
/// use blockwise_ops::{ConvMode, LaunchError, Options};
///
/// let device = Device::any()?;
/// // 6 samples of one channel, 4 at a time.
/// let (mode, options) = (ConvMode::Same, Options::default());
/// let mut convolver = Convolver::new(&device, 6, &[&[0.5_f32, 0.5]], mode, &options, 4)?;
/// let mut samples = (1..=6).map(|i| i as f32);
/// let mut smooth = Vec::new();
/// let mut emit = |channels: &[&[f32]]| -> Result<(), LaunchError> {
///     smooth.extend_from_slice(channels[0]);
///     Ok(())
/// };
/// while convolver.next_len() > 0 {
///     let fill = |channels: &mut [&mut [f32]]| {
///         channels[0].fill_with(|| samples.next().unwrap_or_default());
///         Ok(())
///     };
///     convolver.push(fill, &mut emit)?;
/// }
/// convolver.finish(&mut emit)?;
/// assert_eq!(smooth, [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]);
/// # Ok::<(), LaunchError>(())
/// ```
pub struct Convolver<T: Float> {
    /// The taps of each channel.
    taps: Vec<Buffer<T>>,
    /// The samples that the outputs need, by their index in the signal.
    samples: Range<usize>,
    /// The requested outputs, by their index in the full convolution.
    wanted: Range<usize>,
    /// The whole, of which chunks are parts.
    whole: Problem,
    /// Samples per channel in a chunk.
    chunk: usize,
    /// The index of the next sample to arrive.
    arrived: usize,
    /// The last samples of each channel, which the next chunk's first output needs.
    halos: Vec<Vec<T>>,
    times: DeviceTimes,
    lanes: Ring<Lane<T>>,
}

/// The resources of one chunk.
struct Lane<T: Float> {
    stream: Stream,
    call: Call,
    /// The windows of each channel.
    windows: Vec<Option<StagedBuffer<T>>>,
    outputs: Vec<Option<StagedBuffer<T>>>,
    events: Option<[Event; 4]>,
}

impl<T: Float> Convolver<T> {
    /// Convolves each channel of `signal_len` samples with its taps, in chunks of at most `chunk`
    /// samples over all channels, but per channel at least as many samples as taps.
    ///
    /// The only chunk of a kernel that computes no parts of the outputs is the whole signal.
    ///
    /// # Errors
    /// Those of [`plan`](crate::conv1d::plan), more taps than samples, and a lack of memory for the
    /// taps.
    ///
    /// # Panics
    /// Without channels, and if they have different numbers of taps.
    pub fn new(
        device: &Device,
        signal_len: usize,
        taps: &[&[T]],
        mode: ConvMode,
        options: &Options,
        chunk: usize,
    ) -> Result<Self, LaunchError> {
        let whole = conv1d::problem(T::TYPE, [signal_len, taps[0].len()], mode)?;
        let [.., outputs] = whole.extents;
        Self::part(device, (&CONV, whole), taps, 0..outputs, options, chunk)
    }

    /// The same for some of the outputs of a problem, by their index in it: only the
    /// [samples](Self::samples) that they need arrive. The operation's parts are
    /// [windows](Parts::Windows) of the first input.
    ///
    /// # Errors
    /// As for [`new`](Self::new), and an operation that is not divided so.
    ///
    /// # Panics
    /// As [`new`](Self::new), and if these outputs do not exist.
    pub fn part(
        device: &Device,
        (operation, whole): (&'static Operation, Problem),
        taps: &[&[T]],
        outputs: Range<usize>,
        asked: &Options,
        chunk: usize,
    ) -> Result<Self, LaunchError> {
        let (channels, taps_len) = (taps.len(), taps[0].len());
        assert!(
            taps.iter().all(|taps| taps.len() == taps_len),
            "the channels have different numbers of taps"
        );
        let Parts::Windows(windows) = operation.parts else {
            let operation = operation.name;
            return Err(LaunchError::NotDivided { operation });
        };
        let [signal_len, _, offset, output_len] = whole.extents;
        if taps_len > signal_len {
            return Err(LaunchError::ShapeMismatch {
                left_name: "the signal",
                left: vec![signal_len],
                right_name: "the taps",
                right: vec![taps_len],
                rule: "the longer operand is the one that arrives in chunks",
            });
        }
        assert!(outputs.end <= output_len, "there are {output_len} outputs");
        let wanted = offset + outputs.start..offset + outputs.end;
        let [samples, _] = (windows.part)(&whole, outputs).inputs;
        // Every limit is checked here, before any sample is read.
        let properties = device.properties();
        let chosen = operation::choose(operation, &whole, asked, properties)?.variant;
        let mut options = Options {
            kernel: Some(chosen),
            ..*asked
        };
        operation::plan(operation, &whole, &options, properties)?;
        let mut chunk = (chunk / channels).clamp(taps_len, signal_len);
        if chunk < signal_len || wanted.len() < output_len {
            match operation::in_parts(operation, &whole, asked, properties)? {
                Some(in_parts) => options = in_parts,
                None => chunk = signal_len,
            }
        }
        let lane = |stream| {
            let mut call = Call::new(device, operation, options);
            call.prepare(&whole, true)?;
            Ok(Lane {
                stream,
                call,
                windows: taps.iter().map(|_| None).collect(),
                outputs: taps.iter().map(|_| None).collect(),
                events: None,
            })
        };
        let uploaded = taps.iter().map(|taps| device.upload(taps));
        Ok(Self {
            taps: uploaded.collect::<Result<_, _>>()?,
            arrived: samples.start,
            samples,
            wanted,
            whole,
            chunk,
            halos: vec![Vec::new(); channels],
            times: DeviceTimes::default(),
            lanes: Ring::new(device, lane)?,
        })
    }

    /// The total number of outputs.
    pub fn output_len(&self) -> usize {
        self.wanted.len()
    }

    /// The samples that must arrive, by their index in the signal.
    pub fn samples(&self) -> Range<usize> {
        self.samples.clone()
    }

    /// The number of samples that the next [`push`](Self::push) asks for; 0 after the last.
    pub fn next_len(&self) -> usize {
        self.chunk.min(self.samples.end - self.arrived)
    }

    /// Lets `fill` write the next [`next_len`](Self::next_len) samples of each channel, and starts
    /// their chunk. If all streams are busy, it waits for the oldest chunk and passes the outputs
    /// of each channel to `emit`, while a second thread runs `fill`.
    ///
    /// # Errors
    /// Those of the closures, `emit`'s first, and errors of the device. After an error the
    /// convolution cannot continue.
    pub fn push<E: From<LaunchError> + Send>(
        &mut self,
        fill: impl FnOnce(&mut [&mut [T]]) -> Result<(), E> + Send,
        emit: impl FnOnce(&[&[T]]) -> Result<(), E>,
    ) -> Result<(), E> {
        let len = self.next_len();
        if len == 0 {
            return Ok(());
        }
        let outputs = self.outputs_of(len);
        let (lane, busy) = self.lanes.turn();
        let halo = self.halos[0].len();
        let window_len = halo + len;
        let mut windows = room(&mut lane.windows, &lane.stream, window_len)?;
        for (window, halo) in windows.iter_mut().zip(&self.halos) {
            window[..halo.len()].copy_from_slice(halo);
        }
        let mut samples: Vec<_> = (windows.iter_mut())
            .map(|window| &mut window[halo..])
            .collect();
        if busy {
            let finished = finished(&mut lane.outputs, lane.events.take(), &mut self.times)?;
            std::thread::scope(|scope| {
                let filling = scope.spawn(|| fill(&mut samples));
                let emitted = emit_some(&finished, emit);
                let filled = filling.join();
                emitted?;
                filled.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })?;
        } else {
            fill(&mut samples)?;
        }
        // The first output of the next chunk needs one sample fewer than taps before it.
        let kept = window_len.min(self.taps[0].len() - 1);
        for (window, halo) in windows.iter().zip(&mut self.halos) {
            halo.clear();
            halo.extend_from_slice(&window[window_len - kept..]);
        }
        let first = self.arrived - halo;
        self.arrived += len;
        let [_, taps, ..] = self.whole.extents;
        let offset = outputs.start.saturating_sub(first);
        let part = Problem {
            extents: [window_len, taps, offset, outputs.len()],
            ..self.whole
        };
        Ok(lane.start(&self.taps, &part)?)
    }

    /// Waits for the chunks in flight and passes their outputs to `emit`. Returns the device's time
    /// for all chunks.
    ///
    /// # Errors
    /// Those of the closure, and failures of the device.
    pub fn finish<E: From<LaunchError>>(
        mut self,
        mut emit: impl FnMut(&[&[T]]) -> Result<(), E>,
    ) -> Result<DeviceTimes, E> {
        for lane in self.lanes.drain() {
            let finished = finished(&mut lane.outputs, lane.events.take(), &mut self.times)?;
            emit_some(&finished, &mut emit)?;
        }
        Ok(self.times)
    }

    /// The outputs that the next `len` samples complete; the last chunk also completes those after
    /// the signal.
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
    /// Starts the convolution of the windows, which `push` has filled.
    fn start(&mut self, taps: &[Buffer<T>], part: &Problem) -> Result<(), LaunchError> {
        let stream = &self.stream;
        let [.., outputs] = part.extents;
        for output in &mut self.outputs {
            fit(output, stream, outputs)?;
        }
        if outputs == 0 {
            return Ok(());
        }
        let start = stream.record()?;
        for window in self.windows.iter_mut().flatten() {
            window.upload()?;
        }
        let copied = stream.record()?;
        let channels = self.windows.iter().flatten().zip(taps);
        for ((window, taps), output) in channels.zip(self.outputs.iter_mut().flatten()) {
            let inputs = [window.device().as_view(), taps.as_view()].map(AnyView::from);
            self.call
                .enqueue(Some(stream), part, &inputs, output.device_mut().into())?;
        }
        let computed = stream.record()?;
        for output in self.outputs.iter_mut().flatten() {
            output.download()?;
        }
        self.events = Some([start, copied, computed, stream.record()?]);
        Ok(())
    }
}

/// Memory for `len` samples of each channel.
fn room<'a, T: Float>(
    windows: &'a mut [Option<StagedBuffer<T>>],
    stream: &Stream,
    len: usize,
) -> Result<Vec<&'a mut [T]>, LaunchError> {
    let windows = windows.iter_mut();
    windows
        .map(|window| Ok(fit(window, stream, len)?.host()?))
        .collect()
}

/// Waits for a chunk; returns the outputs of each channel.
fn finished<'a, T: Float>(
    outputs: &'a mut [Option<StagedBuffer<T>>],
    events: Option<[Event; 4]>,
    times: &mut DeviceTimes,
) -> Result<Vec<&'a [T]>, LaunchError> {
    let outputs = outputs.iter_mut().flatten();
    let outputs: Vec<_> = outputs
        .map(|output| Ok::<_, LaunchError>(&*output.host()?))
        .collect::<Result<_, _>>()?;
    if let Some(events) = events {
        times.add(&events)?;
    }
    Ok(outputs)
}

/// Emits the outputs, if there are any.
fn emit_some<T, E>(outputs: &[&[T]], emit: impl FnOnce(&[&[T]]) -> Result<(), E>) -> Result<(), E> {
    match outputs.first().is_some_and(|outputs| !outputs.is_empty()) {
        true => emit(outputs),
        false => Ok(()),
    }
}
