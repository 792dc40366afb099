//! `blockwise dot | sum | min | max`.

use std::path::PathBuf;

use clap::Args;
use ndarray::{Array1, ArrayView1, Ix0, arr0};
use serde_json::json;

use super::failure::Failure;
use super::operand::{self, Holds, Reference};
use super::report::Report;
use super::{Global, names};
use crate::compare::{Comparison, ToNumber};
use crate::device::Device;
use crate::io::Data;
use crate::launch::{self, Number, ReduceKernel, ReduceOptions, Reduction};
use crate::oracle::{self, Expected, Precision};

#[derive(Args)]
pub(super) struct Arguments {
    /// The array, of any shape (.npy or .csv)
    input: PathBuf,
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
    reference: Reference,
}

/// Sum, minimum or maximum of a file.
pub(super) fn run(
    global: &Global,
    reduction: Reduction,
    arguments: &Arguments,
) -> Result<Report, Failure> {
    let data = operand::array(&arguments.input)?;
    let options = &arguments.options;
    let reference = options.reference.read()?;
    let device = global.open()?;
    match data {
        Data::F32(array) => floats(
            &device,
            reduction,
            array.iter().copied().collect(),
            options,
            reference,
        ),
        Data::F64(array) => floats(
            &device,
            reduction,
            array.iter().copied().collect(),
            options,
            reference,
        ),
        Data::I64(array) => {
            let input: Array1<i64> = array.iter().copied().collect();
            let value = launch::reduce(&device, input.view(), reduction, &options.launch())?;
            exact(&device, reduction.name(), value, options, reference)
        }
    }
}

fn floats<T: Number + Precision + ToNumber>(
    device: &Device,
    reduction: Reduction,
    input: Array1<T>,
    options: &Options,
    reference: Option<(String, Data)>,
) -> Result<Report, Failure>
where
    Data: Holds<T>,
    serde_json::Value: From<T>,
{
    let value = launch::reduce(device, input.view(), reduction, &options.launch())?;
    match reduction {
        Reduction::Sum => rounded(
            device,
            reduction.name(),
            value,
            oracle::sum(input.view(), options.launch().roundings(input.len())),
            options,
            reference,
        ),
        Reduction::Min | Reduction::Max => {
            exact(device, reduction.name(), value, options, reference)
        }
    }
}

/// The dot product of two files.
pub(super) fn dot(global: &Global, arguments: &DotArguments) -> Result<Report, Failure> {
    let (a, b) = operand::promote(operand::array(&arguments.a)?, operand::array(&arguments.b)?);
    let options = &arguments.options;
    let reference = options.reference.read()?;
    let vectors = |a, b| {
        Ok::<_, Failure>((
            operand::vector(a, &arguments.a)?,
            operand::vector(b, &arguments.b)?,
        ))
    };
    match (a, b) {
        (Data::F32(a), Data::F32(b)) => {
            let (a, b) = (
                operand::vector(a, &arguments.a)?,
                operand::vector(b, &arguments.b)?,
            );
            dot_floats(global, a.view(), b.view(), options, reference)
        }
        (Data::I64(a), Data::I64(b)) => {
            let (a, b) = (
                operand::vector(a, &arguments.a)?,
                operand::vector(b, &arguments.b)?,
            );
            let device = global.open()?;
            let value = launch::dot(&device, a.view(), b.view(), &options.launch())?;
            exact(&device, "dot", value, options, reference)
        }
        (a, b) => {
            let (a, b) = vectors(a.to_f64(), b.to_f64())?;
            dot_floats(global, a.view(), b.view(), options, reference)
        }
    }
}

fn dot_floats<T: Number + Precision>(
    global: &Global,
    a: ArrayView1<'_, T>,
    b: ArrayView1<'_, T>,
    options: &Options,
    reference: Option<(String, Data)>,
) -> Result<Report, Failure>
where
    serde_json::Value: From<T>,
{
    let device = global.open()?;
    let value = launch::dot(&device, a, b, &options.launch())?;
    let oracle = oracle::dot(a, b, options.launch().roundings(a.len()));
    rounded(&device, "dot", value, oracle, options, reference)
}

impl Options {
    fn launch(&self) -> ReduceOptions {
        ReduceOptions {
            kernel: self.kernel,
            ..ReduceOptions::default()
        }
    }
}

/// Reports a value that depends on rounding.
fn rounded<T: Number + Precision>(
    device: &Device,
    what: &str,
    value: T,
    oracle: Expected<Ix0>,
    options: &Options,
    reference: Option<(String, Data)>,
) -> Result<Report, Failure>
where
    serde_json::Value: From<T>,
{
    report(device, what, value, reference, |data| {
        options.reference.compare(arr0(value).view(), data, oracle)
    })
}

/// Reports a value that does not.
fn exact<T: Number + ToNumber>(
    device: &Device,
    what: &str,
    value: T,
    options: &Options,
    reference: Option<(String, Data)>,
) -> Result<Report, Failure>
where
    Data: Holds<T>,
    serde_json::Value: From<T>,
{
    report(device, what, value, reference, |data| {
        options.reference.compare_exactly(arr0(value).view(), data)
    })
}

fn report<T: Number>(
    device: &Device,
    what: &str,
    value: T,
    reference: Option<(String, Data)>,
    compare: impl FnOnce(&Data) -> Result<Comparison, Failure>,
) -> Result<Report, Failure>
where
    serde_json::Value: From<T>,
{
    // JSON has no NaN and no infinities: the text says what the number was.
    let json = json!({ "command": what, "type": T::NAME, "value": serde_json::Value::from(value), "text": value.to_string(), "device": device.properties().name });
    let report = Report::new(value.to_string(), json);
    match reference {
        None => Ok(report),
        Some((name, data)) => Ok(report.comparison(&name, &compare(&data)?)),
    }
}
