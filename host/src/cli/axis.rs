//! `blockwise sum | min | max --axis`.

use std::path::Path;

use blockwise::Type;
use blockwise_ops::compare::{Comparison, ToNumber};
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::pipeline::{AxisReducer, Piece};
use blockwise_ops::reduce::{Axis, plan_axis, sum_error_along_axis};
use blockwise_ops::{Number, Reduction};
use ndarray::{ArrayD, IxDyn};
use serde_json::json;

use super::failure::Failure;
use super::operand::{self, ArrayOutput, Sums};
use super::reduce::Options;
use super::report::Report;
use super::run::made;
use super::seconds::{Seconds, timed};
use super::{Global, progress};
use crate::io::{self, Data, Kind, Reader};

/// A reduction of a file over an axis.
struct Job<'a> {
    reduction: Reduction,
    input: Reader,
    axis: Axis,
    /// The result's.
    shape: Vec<usize>,
    /// The result's type in a file.
    stored: Type,
    output: &'a Path,
    options: &'a Options,
}

/// Reduces the first file into the second.
pub(super) fn run(
    global: &Global,
    reduction: Reduction,
    axis: isize,
    [input, output]: [&Path; 2],
    options: &Options,
) -> Result<Report, Failure> {
    let input = operand::open(input)?;
    let array = operand::contents(&input)?;
    let (kind, mut shape) = (array.kind(), array.shape().to_vec());
    // A minimum is one of the file's numbers; a sum may be larger than all of them.
    let stored = match reduction {
        Reduction::Sum => kind.into(),
        Reduction::Min | Reduction::Max => array.stored(),
    };
    let (counted, axis) =
        Axis::of(&shape, axis).map_err(|error| operand::named(input.path(), error))?;
    shape.remove(counted);
    let job = Job {
        reduction,
        input,
        axis,
        shape,
        stored,
        output,
        options,
    };
    match (kind, reduction) {
        (Kind::F32, Reduction::Sum) => job.run(global, Job::compare_sums::<f32>),
        (Kind::F64, Reduction::Sum) => job.run(global, Job::compare_sums::<f64>),
        (Kind::F32, _) => job.run(global, Job::compare_exactly::<f32>),
        (Kind::F64, _) => job.run(global, Job::compare_exactly::<f64>),
        (Kind::I64, _) => job.run(global, Job::compare_exactly::<i64>),
    }
}

impl Job<'_> {
    fn run<T: Number + ToNumber + io::Number>(
        &self,
        global: &Global,
        compare: impl FnOnce(&Self, ArrayD<T>, Vec<f64>, &Data) -> Result<Comparison, Failure>,
    ) -> Result<Report, Failure> {
        let reference = self.options.reference.read()?;
        let output = ArrayOutput::prepare(self.output)?;
        let device = global.open_alone(&format!("{} --axis", self.reduction.name()))?;
        let (reduction, axis) = (self.reduction, self.axis);
        // Refused before the output's place on the disk is taken.
        plan_axis::<T>(axis, reduction, None, device.properties())?;
        let mut writer = output.create(&self.shape, self.stored)?;
        // For a comparison, all results, and the sum of the magnitudes of each one's terms.
        let mut results = Vec::new();
        let mut magnitudes = match (&reference, reduction) {
            (Some(_), Reduction::Sum) => vec![0.0; axis.outer * axis.inner],
            _ => Vec::new(),
        };
        let (mut seconds, mut writing) = (Seconds::default(), 0.0);
        let mut emit = |values: &[T]| {
            if reference.is_some() {
                results.extend_from_slice(values);
            }
            timed(&mut writing, || Ok::<_, Failure>(writer.write(values)?))
        };
        let mut reducer = AxisReducer::new(&device, axis, reduction, self.options.chunk.chunk)?;
        let bar = progress::bar(reduction.name(), axis.outer * axis.extent * axis.inner);
        while let Some(piece) = reducer.next_piece() {
            let fill = |values: &mut [T]| {
                timed(&mut seconds.reading, || self.read(&piece, values))?;
                self.add_magnitudes(&piece, values, &mut magnitudes);
                Ok(())
            };
            reducer.push(fill, &mut emit)?;
            bar.inc(piece.elements() as u64);
        }
        let seconds = seconds.on_device(reducer.finish(&mut emit)?);
        bar.finish_and_clear();
        let name = &device.properties().name;
        let of = self.stored.name();
        let report = made(reduction.name(), self.output, name, &self.shape, of);
        let report = match reference {
            None => report,
            Some((name, data)) => {
                let results = of_shape(&self.shape, results)?;
                report.comparison(&name, &compare(self, results, magnitudes, &data)?)
            }
        };
        timed(&mut writing, || writer.finish())?;
        let seconds = Seconds {
            writing: Some(writing),
            ..seconds
        };
        Ok(report.with("seconds", json!(seconds)))
    }

    /// Reads a piece of the file.
    fn read<T: io::Number>(&self, piece: &Piece, values: &mut [T]) -> Result<(), Failure> {
        let block = [piece.rows.clone(), piece.cols.clone()];
        operand::read_block(&self.input, self.axis.inner, block, values)
    }

    fn add_magnitudes<T: ToNumber>(&self, piece: &Piece, values: &[T], sums: &mut [f64]) {
        if sums.is_empty() {
            return;
        }
        let rows = piece.rows.clone().zip(values.chunks(piece.cols.len()));
        for (row, values) in rows {
            let first = row / self.axis.extent * self.axis.inner + piece.cols.start;
            for (sum, value) in sums[first..].iter_mut().zip(values) {
                *sum += value.to_number().abs();
            }
        }
    }

    fn compare_sums<T: Number + Precision>(
        &self,
        results: ArrayD<T>,
        magnitudes: Vec<f64>,
        data: &Data,
    ) -> Result<Comparison, Failure> {
        let sums = Sums {
            magnitudes: of_shape(&self.shape, magnitudes)?,
            terms: self.axis.extent,
            path: oracle::blocked_path(self.axis.extent),
            error: sum_error_along_axis::<T>(),
        };
        let reference = &self.options.reference;
        reference.compare_sums(results.view(), data, sums)
    }

    fn compare_exactly<T: Number + ToNumber>(
        &self,
        results: ArrayD<T>,
        _: Vec<f64>,
        data: &Data,
    ) -> Result<Comparison, Failure> {
        self.options.reference.compare_exactly(results.view(), data)
    }
}

fn of_shape<T>(shape: &[usize], values: Vec<T>) -> Result<ArrayD<T>, Failure> {
    let array = ArrayD::from_shape_vec(IxDyn(shape), values);
    array.map_err(|error| Failure::new(error.to_string()))
}
