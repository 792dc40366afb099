//! `blockwise matmul`.

use std::path::PathBuf;

use blockwise::{Device, Plain as _};
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::{LaunchError, MatmulKernel, MatmulOptions};
use clap::Args;
use ndarray::{Array2, ArrayView2};
use serde_json::json;

use super::failure::Failure;
use super::operand::{self, ArrayOutput, Holds, Reference};
use super::report::Report;
use super::{Global, names, progress};
use crate::io::Data;

#[derive(Args)]
pub(super) struct Arguments {
    /// Matrix A, M x K (.npy or .csv)
    a: PathBuf,
    /// Matrix B, K x N; unlike types and integers are promoted to float64
    b: PathBuf,
    /// Where to write C, M x N (.npy or .csv)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The kernel; without one, the fastest for the type and the shape
    #[arg(long, value_parser = names(MatmulKernel::ALL))]
    kernel: Option<MatmulKernel>,
    /// Multiply float32 on the tensor cores of a GPU of compute capability 9.0, as accurately as without them
    #[arg(long, conflicts_with = "kernel")]
    tensor: bool,
    #[command(flatten)]
    reference: Reference,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    let (a, b) = operand::promote(
        operand::matrix_file(&arguments.a)?,
        operand::matrix_file(&arguments.b)?,
    );
    let options = MatmulOptions {
        kernel: arguments.kernel,
        ..MatmulOptions::default()
    };
    match (operand::floats(a), operand::floats(b)) {
        (Data::F32(a), Data::F32(b)) => multiply(
            global,
            arguments,
            operand::matrix(a, &arguments.a)?,
            operand::matrix(b, &arguments.b)?,
            |device, a, b| match arguments.tensor {
                true => blockwise_ops::matmul_tensor(device, a, b),
                false => blockwise_ops::matmul(device, a, b, &options),
            },
        ),
        (a, b) => multiply(
            global,
            arguments,
            operand::matrix(a.to_f64(), &arguments.a)?,
            operand::matrix(b.to_f64(), &arguments.b)?,
            |device, a, b| match arguments.tensor {
                true => Err(LaunchError::UnsupportedType {
                    kernel: "tensor",
                    supported: f32::NAME,
                    given: f64::NAME,
                }),
                false => blockwise_ops::matmul(device, a, b, &options),
            },
        ),
    }
}

fn multiply<T: Precision>(
    global: &Global,
    arguments: &Arguments,
    a: Array2<T>,
    b: Array2<T>,
    product: impl Fn(&Device, ArrayView2<'_, T>, ArrayView2<'_, T>) -> Result<Array2<T>, LaunchError>,
) -> Result<Report, Failure>
where
    Data: Holds<T>,
{
    blockwise_ops::matmul::MatmulShape::of(a.dim(), b.dim())?;
    let reference = arguments.reference.read()?;
    let output = ArrayOutput::prepare(&arguments.output)?;
    let device = global.open()?;
    let clock = progress::clock("multiplying");
    let c = product(&device, a.view(), b.view())?;
    clock.finish_and_clear();
    let shape = c.shape().to_vec();
    let text = format!(
        "{}: {} x {} {}",
        arguments.output.display(),
        shape[0],
        shape[1],
        T::NAME
    );
    let json = json!({ "command": "matmul", "output": arguments.output.display().to_string(), "shape": shape, "type": T::NAME, "device": device.properties().name });
    let report = Report::new(text, json);
    let report = match reference {
        None => report,
        Some((name, data)) => {
            let comparison =
                arguments
                    .reference
                    .compare(c.view(), &data, oracle::matmul(a.view(), b.view()))?;
            report.comparison(&name, &comparison)
        }
    };
    output.write(&Data::wrap(c.into_dyn()))?;
    Ok(report)
}
