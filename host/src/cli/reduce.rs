//! `blockwise dot | sum | min | max`.

use std::path::{Path, PathBuf};

use blockwise::Device;
use blockwise_ops::compare::{Comparison, ToNumber};
use blockwise_ops::oracle::{Expected, Precision, Sum};
use blockwise_ops::pipeline::{Operation, Reducer};
use blockwise_ops::{Number, ReduceKernel, ReduceOptions, Reduction, reduce as ops};
use clap::Args;
use ndarray::{ArrayViewD, Axis, arr0};
use serde_json::json;

use super::failure::Failure;
use super::movement::carry_out;
use super::operand::{self, Chunk, Holds, Reference};
use super::report::Report;
use super::{Global, names, progress};
use crate::io::{self, Data, Kind, Reader};

#[derive(Args)]
pub(super) struct Arguments {
    /// The array, of any shape (.npy, .csv; .wav: all samples of all channels)
    input: PathBuf,
    /// Reduce over this axis only (.npy, .csv); from the back if negative. The result is an array without it
    #[arg(long, value_name = "K", allow_negative_numbers = true, requires = "output", conflicts_with_all = ["kernel", "chunk"])]
    axis: Option<isize>,
    /// Where to write what --axis gives
    #[arg(short, long, value_name = "FILE", requires = "axis")]
    output: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
pub(super) struct DotArguments {
    /// A vector (.npy or .csv)
    a: PathBuf,
    /// A vector of the same length; unlike types are promoted to float64
    b: PathBuf,
    #[command(flatten)]
    options: Options,
}

#[derive(Args)]
struct Options {
    /// How a block combines its threads' values
    #[arg(long, default_value = "single", value_parser = names(ReduceKernel::ALL))]
    kernel: ReduceKernel,
    #[command(flatten)]
    chunk: Chunk,
    #[command(flatten)]
    reference: Reference,
}

/// Sum, minimum or maximum of a file.
pub(super) fn run(
    global: &Global,
    reduction: Reduction,
    arguments: &Arguments,
) -> Result<Report, Failure> {
    if let (Some(axis), Some(output)) = (arguments.axis, &arguments.output) {
        return over_axis(global, reduction, axis, output, arguments);
    }
    let (input, shape, kind) = operand::reader(&arguments.input)?;
    let job = Job {
        operation: Operation::Reduce(reduction),
        name: reduction.name(),
        inputs: vec![input],
        len: shape.iter().product(),
        options: &arguments.options,
    };
    match (kind, reduction) {
        (Kind::F32, Reduction::Sum) => job.rounded::<f32>(global),
        (Kind::F64, Reduction::Sum) => job.rounded::<f64>(global),
        (Kind::F32, Reduction::Min | Reduction::Max) => job.exact::<f32>(global),
        (Kind::F64, Reduction::Min | Reduction::Max) => job.exact::<f64>(global),
        (Kind::I64, _) => job.exact::<i64>(global),
    }
}

/// The same over one axis.
fn over_axis(
    global: &Global,
    reduction: Reduction,
    axis: isize,
    output: &Path,
    arguments: &Arguments,
) -> Result<Report, Failure> {
    fn exact<T: Number + ToNumber>(
        reference: &Reference,
    ) -> impl FnOnce(ArrayViewD<'_, T>, &Data) -> Result<Comparison, Failure>
    where
        Data: Holds<T>,
    {
        |result, data| reference.compare_exactly(result, data)
    }
    fn rounded<T: Number + Precision>(
        reference: &Reference,
        input: ArrayViewD<'_, T>,
        axis: isize,
    ) -> impl FnOnce(ArrayViewD<'_, T>, &Data) -> Result<Comparison, Failure> {
        move |result, data| {
            let (counted, _) = ops::Axis::of(input.shape(), axis)?;
            let sums = input.map_axis(Axis(counted), |lane| {
                let mut sum = Sum::default();
                lane.iter().for_each(|&value| sum.add(value.into(), 1.0));
                sum
            });
            let oracle = Expected {
                values: sums.mapv(Sum::value),
                tolerance: sums.mapv(Sum::tolerance::<T>),
            };
            reference.compare(result, data, oracle)
        }
    }
    let reference = &arguments.options.reference;
    macro_rules! carry_out {
        ($array:expr, $compare:expr) => {
            carry_out(
                global,
                reduction.name(),
                output,
                reference,
                |device| ops::reduce_axis(device, $array.view(), axis, reduction),
                $compare,
            )
        };
    }
    match (operand::array(&arguments.input)?, reduction) {
        (Data::F32(array), Reduction::Sum) => {
            carry_out!(array, rounded(reference, array.view(), axis))
        }
        (Data::F64(array), Reduction::Sum) => {
            carry_out!(array, rounded(reference, array.view(), axis))
        }
        (Data::F32(array), _) => carry_out!(array, exact(reference)),
        (Data::F64(array), _) => carry_out!(array, exact(reference)),
        (Data::I64(array), _) => carry_out!(array, exact(reference)),
    }
}

/// The dot product of two files.
pub(super) fn dot(global: &Global, arguments: &DotArguments) -> Result<Report, Failure> {
    let mut inputs = Vec::new();
    let mut lens = Vec::new();
    let mut kinds = Vec::new();
    for path in [&arguments.a, &arguments.b] {
        let (input, shape, kind) = operand::reader(path)?;
        lens.push(operand::vector_len(&shape, path)?);
        inputs.push(input);
        kinds.push(kind);
    }
    blockwise_ops::reduce::same_length(lens[0], lens[1])?;
    let job = Job {
        operation: Operation::Dot,
        name: "dot",
        inputs,
        len: lens[0],
        options: &arguments.options,
    };
    // As NumPy promotes them: equal types stay, any others become float64.
    match kinds[..] {
        [Kind::F32, Kind::F32] => job.rounded::<f32>(global),
        [Kind::I64, Kind::I64] => job.exact::<i64>(global),
        _ => job.rounded::<f64>(global),
    }
}

impl Options {
    fn launch(&self) -> ReduceOptions {
        ReduceOptions {
            kernel: self.kernel,
            ..ReduceOptions::default()
        }
    }
}

/// A reduction of files.
struct Job<'a> {
    operation: Operation,
    name: &'static str,
    inputs: Vec<Reader>,
    /// Elements of each.
    len: usize,
    options: &'a Options,
}

impl Job<'_> {
    /// A value that depends on rounding.
    fn rounded<T: Number + Precision + io::Number>(
        mut self,
        global: &Global,
    ) -> Result<Report, Failure>
    where
        serde_json::Value: From<T>,
    {
        let reference = self.options.reference.read()?;
        let device = global.open()?;
        let mut sum = Sum::default();
        // One operand is multiplied by ones.
        let mut factors = vec![1.0];
        let (operands, wanted) = (self.operation.operands(), reference.is_some());
        let (value, roundings) = self.reduce::<T>(&device, |number, values| match number {
            _ if !wanted => {}
            0 if operands == 2 => factors = values.iter().map(|&value| value.into()).collect(),
            _ => {
                let factors = factors.iter().cycle();
                (values.iter().zip(factors))
                    .for_each(|(&value, &factor)| sum.add(factor, value.into()));
            }
        })?;
        let report = self.report(&device, value);
        let Some((name, data)) = reference else {
            return Ok(report);
        };
        let oracle = Expected {
            values: arr0(sum.value()),
            tolerance: arr0(sum.tolerance_after::<T>(roundings)),
        };
        let comparison = (self.options.reference).compare(arr0(value).view(), &data, oracle)?;
        Ok(report.comparison(&name, &comparison))
    }

    /// A value that does not.
    fn exact<T: Number + ToNumber + io::Number>(
        mut self,
        global: &Global,
    ) -> Result<Report, Failure>
    where
        Data: Holds<T>,
        serde_json::Value: From<T>,
    {
        let reference = self.options.reference.read()?;
        let device = global.open()?;
        let (value, _) = self.reduce::<T>(&device, |_, _| {})?;
        let report = self.report(&device, value);
        let Some((name, data)) = reference else {
            return Ok(report);
        };
        let comparison = (self.options.reference).compare_exactly(arr0(value).view(), &data)?;
        Ok(report.comparison(&name, &comparison))
    }

    /// The value, and the most roundings that an element went through. `seen` is shown each operand's elements, by the operand's number.
    fn reduce<T: Number + io::Number>(
        &mut self,
        device: &Device,
        mut seen: impl FnMut(usize, &[T]),
    ) -> Result<(T, usize), Failure> {
        let (options, chunk) = (self.options.launch(), self.options.chunk.chunk);
        let mut reducer = Reducer::new(device, self.len, self.operation, &options, chunk)?;
        let bar = progress::bar(self.name, self.len);
        while reducer.next_len() > 0 {
            bar.inc(reducer.next_len() as u64);
            reducer.push(|number, values| {
                self.inputs[number].read(values)?;
                seen(number, values);
                Ok::<_, Failure>(())
            })?;
        }
        bar.finish_and_clear();
        let roundings = reducer.roundings();
        Ok((reducer.finish()?, roundings))
    }

    fn report<T: Number>(&self, device: &Device, value: T) -> Report
    where
        serde_json::Value: From<T>,
    {
        // JSON has no NaN and no infinities: the text says what the number was.
        let json = json!({ "command": self.name, "type": T::NAME, "value": serde_json::Value::from(value), "text": value.to_string(), "device": device.properties().name });
        Report::new(value.to_string(), json)
    }
}
