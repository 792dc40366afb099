//! Compares outputs with `--reference` as they are computed.

use blockwise_ops::compare::{self, Comparison, ShapeMismatch};
use blockwise_ops::operation::{Asked, Expected, Near, Operation, Problem, Variant, Windows};
use blockwise_ops::oracle::gamma;
use blockwise_ops::{AnyArray, LaunchError};
use ndarray::{ArrayD, ArrayView1, IxDyn};

use super::windows_task::Task;
use crate::cli::failure::Failure;
use crate::cli::operand::{self, Reference};
use crate::cli::recording::{Frames, Operands, Sample, shape};
use crate::cli::report::Report;
use crate::io::Sound;

/// A comparison in progress. It reads the operands a second time, for the oracle.
pub(super) struct Check<'a, T> {
    options: &'a Reference,
    name: String,
    reference: Frames,
    operands: Operands<T>,
    of: &'static Operation,
    windows: &'static Windows,
    whole: Problem,
    /// The kernel, whose error may depend on samples near an output's own too.
    variant: &'static Variant,
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
        task: &Task<'a>,
        operands: &Operands<T>,
        variant: &'static Variant,
    ) -> Result<Option<Self>, Failure> {
        let options = &task.arguments.reference;
        let Some(path) = options.path() else {
            return Ok(None);
        };
        let reference = Frames::of(operand::open(path)?)?;
        let channels = operands.channels();
        let result = shape(task.outputs(), channels);
        let expected = shape(reference.frames(), reference.channels());
        if result != expected {
            let reference = expected;
            return Err(Failure::from(ShapeMismatch { result, reference }).about(path));
        }
        Ok(Some(Self {
            options,
            name: path.display().to_string(),
            reference,
            operands: operands.again(),
            of: task.of,
            windows: task.windows,
            whole: task.whole,
            variant,
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
        let run = self.at..self.at + frames;
        let all = (self.of.lens)(&self.whole).output;
        let (part, within) = self.windows.around(&self.whole, &run, all);
        let [needed, _] = part.inputs;
        self.read_to(needed.end, needed.start)?;
        let unit = self.reference.unit_roundoff().max(T::UNIT_ROUNDOFF);

        let shape = IxDyn(&shape(frames, channels));
        let mut tolerance = vec![0.0; outputs.len()];
        for (channel, window) in self.window.iter().enumerate() {
            let window = &window[..needed.len()];
            let inputs = [window, self.operands.short(channel)];
            let inputs = inputs.map(|input| AnyArray::of(ArrayView1::from(input).into_dyn()));
            let [window, short] = inputs;
            let expected = (self.of).expected(
                self.variant,
                Asked {
                    problem: &part.problem,
                    inputs: &[window?, short?],
                    runs: std::slice::from_ref(&within),
                    before: &mut [0; 4],
                },
            )?;
            let Expected::Near(expected) = expected else {
                let operation = self.of.name;
                return Err(LaunchError::NotDivided { operation }.into());
            };
            let of_channel = tolerance.iter_mut().skip(channel).step_by(channels);
            for (to, near) in of_channel.zip(&expected) {
                *to = near.tolerance + theirs::<T>(near, unit);
            }
        }
        let mut result = outputs.to_vec();
        if let Some((lowest, highest)) = self
            .reference
            .sound()
            .as_ref()
            .and_then(Sound::integer_range)
        {
            // The writer of integers clipped, and rounded or truncated: an error of up to one unit.
            tolerance.iter_mut().for_each(|tolerance| *tolerance += 1.0);
            for sample in &mut result {
                *sample = T::nearest((*sample).into().clamp(lowest, highest));
            }
        }
        let mut values = vec![0.0; outputs.len()];
        self.reference.read(&mut values)?;

        let array = |values| ArrayD::from_shape_vec(shape.clone(), values).map_err(wrong);
        let expected = (self.options).expected(array(values)?, array(tolerance)?, 0.0);
        let result = ArrayD::from_shape_vec(shape.clone(), result).map_err(wrong)?;
        let part = compare::with_oracle(result.view(), &expected)?;
        self.comparison.append(self.at, part);
        self.at += frames;
        Ok(())
    }

    /// Adds the verdict to the report.
    pub(super) fn report(self, report: Report) -> Report {
        let roundings = match self.operands.short(0).len() {
            1 => "1 rounding".to_owned(),
            terms => format!("{terms} roundings"),
        };
        let beside = match self.variant.error {
            Some(_) => ", and in ours those less than a filter's length beside them",
            None => "",
        };
        let bound = match self.options.asked_for() {
            Some(bound) => bound.to_owned(),
            None => format!(
                "for each output, {roundings} of its own samples times taps in any order, or an FFT's{beside}"
            ),
        };
        report.comparison(&self.name, &self.comparison.bounded_by(bound))
    }

    /// Reads the samples before `end`, and drops those before `start`.
    fn read_to(&mut self, end: usize, start: usize) -> Result<(), Failure> {
        let channels = self.operands.channels();
        let arrived = self.start + self.window[0].len();
        let frames = end.saturating_sub(arrived);
        let mut samples = vec![T::default(); frames * channels];
        self.operands.read(&mut samples)?;
        for (channel, window) in self.window.iter_mut().enumerate() {
            window.extend(samples.iter().skip(channel).step_by(channels));
        }
        let forgotten = start - self.start;
        for window in &mut self.window {
            window.drain(..forgotten);
        }
        self.start = start;
        Ok(())
    }
}

/// What a reference of this unit roundoff may be off.
fn theirs<T: Sample>(near: &Near, unit: f64) -> f64 {
    let lost = match near.tolerance > 0.0 {
        true => T::SMALLEST * (unit / T::UNIT_ROUNDOFF) * (near.terms as f64 / 2.0),
        false => 0.0,
    };
    gamma(near.terms, unit) * near.magnitude.min(f64::MAX) + unit * near.value.abs() + lost
}

fn wrong(error: ndarray::ShapeError) -> Failure {
    Failure::new(error.to_string())
}
