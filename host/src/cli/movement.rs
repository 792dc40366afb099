//! `blockwise transpose | reverse`.

use std::path::{Path, PathBuf};

use blockwise::Device;
use blockwise_ops::compare::Comparison;
use blockwise_ops::{
    Element, LaunchError, ReverseKernel, ReverseOptions, TransposeKernel, TransposeOptions,
};
use clap::Args;
use ndarray::{Array, ArrayView, Dimension};
use serde_json::json;

use super::failure::Failure;
use super::operand::{self, ArrayOutput, Holds, Reference};
use super::report::Report;
use super::{Global, names};
use crate::io::Data;

#[derive(Args)]
pub(super) struct TransposeArguments {
    /// The matrix (.npy or .csv)
    input: PathBuf,
    /// Where to write the transposed matrix
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The kernel [default: the fastest for the shape]
    #[arg(long, value_parser = names(TransposeKernel::ALL))]
    kernel: Option<TransposeKernel>,
    #[command(flatten)]
    reference: Reference,
}

#[derive(Args)]
pub(super) struct ReverseArguments {
    /// The vector (.npy or .csv)
    input: PathBuf,
    /// Where to write the reversed vector
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The kernel
    #[arg(long, default_value = "direct", value_parser = names(ReverseKernel::ALL))]
    kernel: ReverseKernel,
    #[command(flatten)]
    reference: Reference,
}

/// Runs `$move::<element type>` on the data, whatever its type.
macro_rules! for_each_type {
    ($data:expr, |$array:ident| $body:expr) => {
        match $data {
            Data::F32($array) => $body,
            Data::F64($array) => $body,
            Data::I64($array) => $body,
        }
    };
}

pub(super) fn transpose(
    global: &Global,
    arguments: &TransposeArguments,
) -> Result<Report, Failure> {
    let options = TransposeOptions {
        kernel: arguments.kernel,
        ..TransposeOptions::default()
    };
    let (input, output) = (&arguments.input, &arguments.output);
    for_each_type!(operand::matrix_file(input)?, |array| {
        let matrix = operand::matrix(array, input)?;
        carry_out(
            global,
            "transpose",
            output,
            &arguments.reference,
            |device| blockwise_ops::transpose(device, matrix.view(), &options),
            |moved, data| arguments.reference.compare_exactly(moved, data),
        )
    })
}

pub(super) fn reverse(global: &Global, arguments: &ReverseArguments) -> Result<Report, Failure> {
    let options = ReverseOptions {
        kernel: arguments.kernel,
        ..ReverseOptions::default()
    };
    let (input, output) = (&arguments.input, &arguments.output);
    for_each_type!(operand::array(input)?, |array| {
        let vector = operand::vector(array, input)?;
        carry_out(
            global,
            "reverse",
            output,
            &arguments.reference,
            |device| blockwise_ops::reverse(device, vector.view(), &options),
            |moved, data| arguments.reference.compare_exactly(moved, data),
        )
    })
}

/// Opens the device, makes an array there, writes and compares it.
pub(super) fn carry_out<T: Element, D: Dimension>(
    global: &Global,
    command: &str,
    output: &Path,
    reference: &Reference,
    make: impl FnOnce(&Device) -> Result<Array<T, D>, LaunchError>,
    compare: impl FnOnce(ArrayView<'_, T, D>, &Data) -> Result<Comparison, Failure>,
) -> Result<Report, Failure>
where
    Data: Holds<T>,
{
    let expected = reference.read()?;
    let place = ArrayOutput::prepare(output)?;
    let device = global.open()?;
    let made = make(&device)?;
    let text = format!("{}: {:?} {}", output.display(), made.shape(), T::NAME);
    let json = json!({ "command": command, "output": output.display().to_string(), "shape": made.shape(), "type": T::NAME, "device": device.properties().name });
    let report = Report::new(text, json);
    let report = match expected {
        None => report,
        Some((name, data)) => report.comparison(&name, &compare(made.view(), &data)?),
    };
    place.write(&Data::wrap(made.into_dyn()))?;
    Ok(report)
}
