//! Compares the outputs of `blockwise conv` with `--reference` as they are computed.

use std::collections::VecDeque;
use std::ops::Range;

use blockwise_ops::ConvMode;
use blockwise_ops::compare::{self, Comparison, ShapeMismatch};
use blockwise_ops::oracle;
use ndarray::{ArrayD, ArrayView1, IxDyn};

use super::conv_operands::{Frames, Operands, Sample};
use super::failure::Failure;
use super::operand::{self, Reference};
use super::report::Report;
use crate::io::Sound;

/// A comparison in progress. It reads the operands a second time, for the oracle.
pub(super) struct Check<'a, T> {
    options: &'a Reference,
    name: String,
    reference: Frames,
    operands: Operands<T>,
    /// The additional error of a convolution by FFT, per unit of the loudest sample, for each
    /// channel. SciPy uses FFTs for long operands by default.
    fft_errors: Vec<f64>,
    /// Whether the kernel uses FFTs, so that its error also depends on samples near an output's
    /// own.
    by_fft: bool,
    /// The outputs, by their index in the full convolution.
    outputs: Range<usize>,
    /// The number of outputs compared.
    at: usize,
    /// Samples of each channel from `start` on that were read and are still needed.
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
        by_fft: bool,
    ) -> Result<Option<Self>, Failure> {
        let Some(path) = options.path() else {
            return Ok(None);
        };
        let reference = Frames::of(operand::open(path)?)?;
        let short = operands.short(0);
        let outputs = mode.outputs(operands.long_len(), short.len())?;
        let channels = operands.channels();
        let result = shape(outputs.len, channels);
        let expected = shape(reference.frames(), reference.channels());
        if result != expected {
            let reference = expected;
            return Err(Failure::from(ShapeMismatch { result, reference }).about(path));
        }
        let fft_errors = (0..channels)
            .map(|channel| oracle::fft_error(1.0, ArrayView1::from(operands.short(channel))));
        Ok(Some(Self {
            options,
            name: path.display().to_string(),
            reference,
            operands: operands.again(),
            fft_errors: fft_errors.collect(),
            by_fft,
            outputs: outputs.offset..outputs.offset + outputs.len,
            at: 0,
            window: vec![Vec::new(); channels],
            start: 0,
            comparison: Comparison::empty(),
        }))
    }

    /// Compares the next outputs, frame by frame with all channels.
    pub(super) fn add(&mut self, outputs: &[T]) -> Result<(), Failure> {
        let channels = self.operands.channels();
        let frames = outputs.len() / channels;
        let first = self.outputs.start + self.at;
        let coarser = operand::coarser::<T>(self.reference.unit_roundoff());
        let taps = self.operands.short(0).len();
        // Samples next to an output's own that affect its error.
        let reach = if self.by_fft { taps - 1 } else { 0 };
        self.read_to(first + frames + reach, taps - 1 + reach)?;

        let shape = IxDyn(&shape(frames, channels));
        let mut tolerance = vec![0.0; outputs.len()];
        for (channel, window) in self.window.iter().enumerate() {
            let outputs = first - self.start..first + frames - self.start;
            let expected = oracle::convolve_part(
                ArrayView1::from(window),
                ArrayView1::from(self.operands.short(channel)),
                outputs.clone(),
            );
            let own = loudest(window, outputs.clone(), [taps - 1, 0]);
            let ours = match self.by_fft {
                true => loudest(window, outputs, [taps - 1 + reach, reach]),
                false => vec![0.0; frames],
            };
            let unit = self.fft_errors[channel];
            let of_channel = tolerance.iter_mut().skip(channel).step_by(channels);
            let bounds = expected.tolerance.iter().zip(own).zip(ours);
            for (to, ((&sum, own), ours)) in of_channel.zip(bounds) {
                // `expected` adds the reference's part: `coarser` times the value here.
                *to = sum + unit * (coarser * own + ours) / (1.0 + coarser);
            }
        }
        let mut result = outputs.to_vec();
        if let Some((lowest, highest)) = self
            .reference
            .sound()
            .as_ref()
            .and_then(Sound::integer_range)
        {
            // The writer of integers clipped, and rounded or truncated: an error of up to one unit,
            // half of which the comparison doubles.
            tolerance.iter_mut().for_each(|tolerance| *tolerance += 0.5);
            for sample in &mut result {
                *sample = T::nearest((*sample).into().clamp(lowest, highest));
            }
        }
        let mut values = vec![0.0; outputs.len()];
        self.reference.read(&mut values)?;

        let array = |values| ArrayD::from_shape_vec(shape.clone(), values).map_err(wrong);
        let expected = (self.options).expected(array(values)?, array(tolerance)?, coarser);
        let result = ArrayD::from_shape_vec(shape.clone(), result).map_err(wrong)?;
        let part = compare::with_oracle(result.view(), &expected)?;
        self.comparison.append(self.at, part);
        self.at += frames;
        Ok(())
    }

    /// Adds the verdict to the report.
    pub(super) fn report(self, report: Report) -> Report {
        let terms = self.operands.short(0).len();
        let beside = match self.by_fft {
            true => ", and in ours those less than a filter's length beside them",
            false => "",
        };
        let bound = match self.options.asked_for() {
            Some(bound) => bound.to_owned(),
            None => format!(
                "for each output, {terms} roundings of its own samples times taps in any order, or an FFT's{beside}"
            ),
        };
        report.comparison(&self.name, &self.comparison.bounded_by(bound))
    }

    /// Reads the samples before `end`, and drops those more than `back` before the newest sample of
    /// the next output.
    fn read_to(&mut self, end: usize, back: usize) -> Result<(), Failure> {
        let channels = self.operands.channels();
        let needed_from = (self.outputs.start + self.at).saturating_sub(back);
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

/// The largest finite magnitude near each output: from `before` the output's newest sample to
/// `after` it. An output's own samples that are not finite are compared as such.
fn loudest<T: Sample>(
    samples: &[T],
    outputs: Range<usize>,
    [before, after]: [usize; 2],
) -> Vec<f64> {
    // Samples larger than all later ones, in order: a sliding maximum.
    let mut falling: VecDeque<(usize, f64)> = VecDeque::new();
    let mut next = outputs.start.saturating_sub(before);
    let of_output = |output: usize| {
        let end = (output + after + 1).min(samples.len());
        for (at, &sample) in samples.iter().enumerate().take(end).skip(next) {
            let magnitude = match sample.into().abs() {
                magnitude if magnitude.is_finite() => magnitude,
                _ => 0.0,
            };
            while falling.back().is_some_and(|&(_, other)| other <= magnitude) {
                falling.pop_back();
            }
            falling.push_back((at, magnitude));
        }
        next = next.max(end);
        while falling.front().is_some_and(|&(at, _)| at + before < output) {
            falling.pop_front();
        }
        falling.front().map_or(0.0, |&(_, magnitude)| magnitude)
    };
    outputs.map(of_output).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loudest_sample_near_each_output() {
        let samples = [0.0_f64, -3.0, 1.0, 2.0, 0.0, f64::NAN, 0.5, 0.0];
        for (before, after) in [(0, 0), (1, 0), (2, 0), (2, 3), (100, 100), (0, 1)] {
            for start in 0..samples.len() {
                let outputs = start..samples.len() + 3;
                let near = |output: usize| {
                    let from = output.saturating_sub(before).min(samples.len());
                    let to = (output + after + 1).min(samples.len());
                    let magnitudes = samples[from..to.max(from)]
                        .iter()
                        .map(|sample| if sample.is_nan() { 0.0 } else { sample.abs() });
                    magnitudes.fold(0.0, f64::max)
                };
                let expected: Vec<f64> = outputs.clone().map(near).collect();
                assert_eq!(
                    loudest(&samples, outputs, [before, after]),
                    expected,
                    "{before} before, {after} after, from {start}"
                );
            }
        }
    }
}
