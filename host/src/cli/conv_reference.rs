//! Compares what `blockwise conv` computes with `--reference`, as it comes.

use std::ops::Range;

use blockwise_ops::ConvMode;
use blockwise_ops::compare::{self, Comparison, ShapeMismatch};
use blockwise_ops::oracle::{self, Precision};
use ndarray::{ArrayD, ArrayView1, IxDyn};

use super::conv_operands::{Frames, Operands, Sample};
use super::failure::Failure;
use super::operand::Reference;
use super::report::Report;
use crate::io::{Kind, Reader, Sound};

/// Frames of the longer operand that are read at a time where only their size matters.
const PIECE: usize = 1 << 16;

/// A comparison in flight. It reads the operands a second time, for the oracle.
pub(super) struct Check<'a, T> {
    options: &'a Reference,
    name: String,
    reference: Frames,
    operands: Operands<T>,
    /// What SciPy's convolution by FFT, which it takes for long operands by itself, may add to each
    /// channel's error.
    fft_errors: Vec<f64>,
    /// The outputs, by their index in the full convolution.
    outputs: Range<usize>,
    /// Outputs that were compared.
    at: usize,
    /// Samples of each channel from `start` on, as far as they were read and are needed.
    window: Vec<Vec<T>>,
    start: usize,
    comparison: Comparison,
}

impl<'a, T: Sample> Check<'a, T> {
    /// Opens the reference, if one was named, before anything is computed.
    pub(super) fn prepare(
        options: &'a Reference,
        operands: &Operands<T>,
        mode: ConvMode,
    ) -> Result<Option<Self>, Failure> {
        let Some(path) = options.path() else {
            return Ok(None);
        };
        let reference = Frames::of(Reader::open(path)?)?;
        let short = operands.short(0);
        let outputs = mode.outputs(operands.long_len(), short.len())?;
        let channels = operands.channels();
        let result = shape(outputs.len, channels);
        let expected = shape(reference.frames(), reference.channels());
        if result != expected {
            return Err(ShapeMismatch {
                result,
                reference: expected,
            }
            .into());
        }
        let loudest = loudest(operands.again())?;
        let fft_errors = loudest.iter().enumerate().map(|(channel, &loudest)| {
            oracle::fft_error(loudest, ArrayView1::from(operands.short(channel)))
        });
        Ok(Some(Self {
            options,
            name: path.display().to_string(),
            reference,
            operands: operands.again(),
            fft_errors: fft_errors.collect(),
            outputs: outputs.offset..outputs.offset + outputs.len,
            at: 0,
            window: vec![Vec::new(); channels],
            start: 0,
            comparison: Comparison::empty(),
        }))
    }

    /// Compares the next outputs, channel after channel of each frame.
    pub(super) fn add(&mut self, outputs: &[T]) -> Result<(), Failure> {
        let channels = self.operands.channels();
        let frames = outputs.len() / channels;
        let first = self.outputs.start + self.at;
        self.read_to(first + frames)?;

        let shape = IxDyn(&shape(frames, channels));
        let mut tolerance = vec![0.0; outputs.len()];
        for (channel, window) in self.window.iter().enumerate() {
            let expected = oracle::convolve_part(
                ArrayView1::from(window),
                ArrayView1::from(self.operands.short(channel)),
                first - self.start..first + frames - self.start,
            );
            let of_channel = tolerance.iter_mut().skip(channel).step_by(channels);
            for (to, from) in of_channel.zip(expected.tolerance) {
                *to = from + self.fft_errors[channel];
            }
        }
        let mut result = outputs.to_vec();
        if let Some((lowest, highest)) = self
            .reference
            .sound()
            .as_ref()
            .and_then(Sound::integer_range)
        {
            // Whoever wrote integers clipped, and rounded or cut off: up to one unit away, of which
            // the comparison doubles the half.
            tolerance.iter_mut().for_each(|tolerance| *tolerance += 0.5);
            for sample in &mut result {
                *sample = T::nearest((*sample).into().clamp(lowest, highest));
            }
        }
        let mut values = vec![0.0; outputs.len()];
        self.reference.read(&mut values)?;

        let array = |values| ArrayD::from_shape_vec(shape.clone(), values).map_err(wrong);
        let coarser = match self.reference.kind() {
            Kind::F32 => f32::UNIT_ROUNDOFF / T::UNIT_ROUNDOFF,
            Kind::F64 | Kind::I64 => 1.0,
        };
        let expected = (self.options).expected(array(values)?, array(tolerance)?, coarser);
        let result = ArrayD::from_shape_vec(shape.clone(), result).map_err(wrong)?;
        let part = compare::with_oracle(result.view(), &expected)?;
        self.comparison.append(self.at, part);
        self.at += frames;
        Ok(())
    }

    /// Adds the verdict to the report.
    pub(super) fn report(self, report: Report) -> Report {
        report.comparison(&self.name, &self.comparison)
    }

    /// Reads the samples that the outputs before `end` need, and forgets those that none will need
    /// any more.
    fn read_to(&mut self, end: usize) -> Result<(), Failure> {
        let channels = self.operands.channels();
        let needed_from =
            (self.outputs.start + self.at + 1).saturating_sub(self.operands.short(0).len());
        let arrived = self.start + self.window[0].len();
        let frames = end.min(self.operands.long_len()).saturating_sub(arrived);
        let mut samples = vec![T::default(); frames * channels];
        self.operands.read(&mut samples)?;
        for (channel, window) in self.window.iter_mut().enumerate() {
            window.extend(samples.iter().skip(channel).step_by(channels));
        }
        let forgotten = needed_from
            .saturating_sub(self.start)
            .min(self.window[0].len());
        for window in &mut self.window {
            window.drain(..forgotten);
        }
        self.start += forgotten;
        Ok(())
    }
}

fn wrong(error: ndarray::ShapeError) -> Failure {
    Failure::new(error.to_string())
}

/// The shape of frames in a file.
pub(super) fn shape(frames: usize, channels: usize) -> Vec<usize> {
    match channels {
        1 => vec![frames],
        _ => vec![frames, channels],
    }
}

/// The largest magnitude in each channel of the longer operand.
fn loudest<T: Sample>(mut operands: Operands<T>) -> Result<Vec<f64>, Failure> {
    let (mut left, channels) = (operands.long_len(), operands.channels());
    let mut loudest = vec![0.0; channels];
    let mut samples = Vec::new();
    while left > 0 {
        let frames = left.min(PIECE);
        samples.resize(frames * channels, T::default());
        operands.read(&mut samples)?;
        for frame in samples.chunks(channels) {
            for (loudest, &sample) in loudest.iter_mut().zip(frame) {
                *loudest = f64::max(*loudest, sample.into().abs());
            }
        }
        left -= frames;
    }
    Ok(loudest)
}
