//! `blockwise transpose | reverse`.

use std::path::{Path, PathBuf};

use blockwise::Device;
use blockwise_mesh::{Grid, Mesh};
use blockwise_ops::compare::{Comparison, ToNumber};
use blockwise_ops::{
    Element, LaunchError, ReverseKernel, ReverseOptions, TransposeKernel, TransposeOptions,
};
use clap::Args;
use ndarray::{Array, Array2, ArrayView, Dimension};
use serde_json::json;

use super::failure::Failure;
use super::mesh::{self, Gpus};
use super::operand::{self, ArrayOutput, Holds, MatrixFile, Reference};
use super::report::Report;
use super::seconds::Seconds;
use super::{Global, names};
use crate::io::{Data, Kind, Number};

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
    gpus: Gpus,
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
    let file = MatrixFile::open(&arguments.input)?;
    match file.kind {
        Kind::F32 => transposed::<f32>(global, arguments, &file),
        Kind::F64 => transposed::<f64>(global, arguments, &file),
        Kind::I64 => transposed::<i64>(global, arguments, &file),
    }
}

fn transposed<T: Element + Number + ToNumber>(
    global: &Global,
    arguments: &TransposeArguments,
    file: &MatrixFile,
) -> Result<Report, Failure>
where
    Data: Holds<T>,
{
    let options = TransposeOptions {
        kernel: arguments.kernel,
        ..TransposeOptions::default()
    };
    let (output, reference) = (&arguments.output, &arguments.reference);
    let expected = reference.read()?;
    let mesh = global.linked_mesh(&arguments.gpus)?;
    let place = mesh::output(&mesh, output)?;
    let transposed = match mesh::alone(&mesh) {
        Some(device) => {
            let matrix = file.whole::<T>()?;
            let whole = blockwise_ops::transpose(device, matrix.view(), &options)?;
            Some((whole, None))
        }
        None => divided::<T>(&mesh, file, &options)?.map(|(whole, s)| (whole, Some(s))),
    };
    let (Some((transposed, seconds)), Some(place)) = (transposed, place) else {
        return Ok(Report::silent());
    };
    let shape = transposed.shape();
    let report = made("transpose", output, &mesh::names(&mesh), shape, T::NAME);
    let report = match seconds {
        Some(seconds) => report.with("seconds", json!(seconds)),
        None => report,
    };
    let report = match expected {
        None => report,
        Some((name, data)) => {
            let comparison = reference.compare_exactly(transposed.view(), &data)?;
            report.comparison(&name, &comparison)
        }
    };
    place.write(&Data::wrap(transposed.into_dyn()))?;
    Ok(report)
}

/// The transpose by several devices, in the process of rank 0. Each rank reads its block only.
fn divided<T: Element + Number>(
    mesh: &Mesh,
    file: &MatrixFile,
    options: &TransposeOptions,
) -> Result<Option<(Array2<T>, Seconds)>, Failure> {
    let [rows, cols] = file.shape;
    let wholes = mesh.run(|rank| {
        let mut seconds = Seconds::default();
        let part = mesh::part::<T>(rank, file, Grid::column(rank.ranks()), &mut seconds)?;
        let transpose = |rank: &mut _| blockwise_mesh::transpose(rank, &part, options);
        let whole = mesh::collected(rank, &mut seconds, transpose)?;
        Ok::<_, Failure>((whole, seconds))
    })?;
    mesh::whole(wholes, cols, rows)
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
    let device = global.open_alone(command)?;
    let array = make(&device)?;
    let name = &device.properties().name;
    let report = made(command, output, name, array.shape(), T::NAME);
    let report = match expected {
        None => report,
        Some((name, data)) => report.comparison(&name, &compare(array.view(), &data)?),
    };
    place.write(&Data::wrap(array.into_dyn()))?;
    Ok(report)
}

/// What is said of an array that was made.
pub(super) fn made(
    command: &str,
    output: &Path,
    device: &str,
    shape: &[usize],
    of: &str,
) -> Report {
    let text = format!("{}: {shape:?} {of}", output.display());
    let json = json!({ "command": command, "output": output.display().to_string(), "shape": shape, "type": of, "device": device });
    Report::new(text, json)
}
