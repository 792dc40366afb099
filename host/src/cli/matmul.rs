//! `blockwise matmul`.

use std::path::PathBuf;

use clap::Args;
use ndarray::Array2;
use serde_json::json;

use super::failure::Failure;
use super::operand::{self, ArrayOutput, Holds, Reference};
use super::report::Report;
use super::{Global, names};
use crate::io::Data;
use crate::launch::{self, MatmulKernel, MatmulOptions};
use crate::oracle::{self, Precision};

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
    #[command(flatten)]
    reference: Reference,
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    let (a, b) = operand::promote(operand::array(&arguments.a)?, operand::array(&arguments.b)?);
    match (operand::floats(a), operand::floats(b)) {
        (Data::F32(a), Data::F32(b)) => multiply(
            global,
            arguments,
            operand::matrix(a, &arguments.a)?,
            operand::matrix(b, &arguments.b)?,
        ),
        (a, b) => multiply(
            global,
            arguments,
            operand::matrix(a.to_f64(), &arguments.a)?,
            operand::matrix(b.to_f64(), &arguments.b)?,
        ),
    }
}

fn multiply<T: Precision>(
    global: &Global,
    arguments: &Arguments,
    a: Array2<T>,
    b: Array2<T>,
) -> Result<Report, Failure>
where
    Data: Holds<T>,
{
    launch::matmul::MatmulShape::of(a.dim(), b.dim())?;
    let reference = arguments.reference.read()?;
    let output = ArrayOutput::prepare(&arguments.output)?;
    let device = global.open()?;
    let options = MatmulOptions {
        kernel: arguments.kernel,
        ..MatmulOptions::default()
    };
    let c = launch::matmul(&device, a.view(), b.view(), &options)?;
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
