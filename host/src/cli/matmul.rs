//! `blockwise matmul`.

use std::path::PathBuf;

use blockwise::{Device, Plain as _};
use blockwise_mesh::{Blocks, Grid, Mesh, Rank, ShardedMatmulOptions, ShardedMatrix};
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::{LaunchError, MatmulKernel, MatmulOptions, MatmulShape};
use clap::Args;
use ndarray::{Array2, ArrayView2, CowArray, Ix2};
use serde_json::json;

use super::failure::Failure;
use super::mesh::{self, Gpus};
use super::operand::{self, Holds, Reference};
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
    /// Multiply float32 on the tensor cores of a GPU of compute capability 9.0, as accurately as
    /// without them
    #[arg(long, conflicts_with = "kernel")]
    tensor: bool,
    #[command(flatten)]
    gpus: Gpus,
    #[command(flatten)]
    reference: Reference,
}

impl Arguments {
    fn launch(&self) -> MatmulOptions {
        MatmulOptions {
            kernel: self.kernel,
            ..MatmulOptions::default()
        }
    }
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    let (a, b) = operand::promote(
        operand::matrix_file(&arguments.a)?,
        operand::matrix_file(&arguments.b)?,
    );
    let launch = arguments.launch();
    match (operand::floats(a), operand::floats(b)) {
        (Data::F32(a), Data::F32(b)) => multiply(
            global,
            arguments,
            operand::matrix(a, &arguments.a)?,
            operand::matrix(b, &arguments.b)?,
            |device, a, b| match arguments.tensor {
                true => blockwise_ops::matmul_tensor(device, a, b),
                false => blockwise_ops::matmul(device, a, b, &launch),
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
                false => blockwise_ops::matmul(device, a, b, &launch),
            },
        ),
    }
}

fn multiply<T: Precision>(
    global: &Global,
    arguments: &Arguments,
    a: Array2<T>,
    b: Array2<T>,
    alone: impl FnOnce(&Device, ArrayView2<'_, T>, ArrayView2<'_, T>) -> Result<Array2<T>, LaunchError>,
) -> Result<Report, Failure>
where
    Data: Holds<T>,
{
    let shape = MatmulShape::of(a.dim(), b.dim())?;
    let reference = arguments.reference.read()?;
    let mesh = global.linked_mesh(&arguments.gpus)?;
    let output = mesh::output(&mesh, &arguments.output)?;
    let clock = progress::clock("multiplying");
    let product = match mesh::alone(&mesh) {
        Some(device) => Some(alone(device, a.view(), b.view())?),
        None => divided(&mesh, arguments, shape, &a, &b)?,
    };
    clock.finish_and_clear();
    let (Some(c), Some(output)) = (product, output) else {
        return Ok(Report::silent());
    };
    let shape = c.shape().to_vec();
    let text = format!(
        "{}: {} x {} {}",
        arguments.output.display(),
        shape[0],
        shape[1],
        T::NAME
    );
    let json = json!({ "command": "matmul", "output": arguments.output.display().to_string(), "shape": shape, "type": T::NAME, "device": mesh::names(&mesh) });
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

/// The product of several devices, in the process of rank 0.
fn divided<T: Precision>(
    mesh: &Mesh,
    arguments: &Arguments,
    shape: MatmulShape,
    a: &Array2<T>,
    b: &Array2<T>,
) -> Result<Option<Array2<T>>, Failure> {
    let options = ShardedMatmulOptions {
        launch: arguments.launch(),
        tensor: arguments.tensor,
        panel: None,
    };
    let grid = Grid::for_product(shape, mesh.ranks());
    let (a, b) = (a.as_standard_layout(), b.as_standard_layout());
    let part = |rank: &Rank, whole: &CowArray<'_, T, Ix2>| {
        let (rows, cols) = whole.dim();
        let values = whole.as_slice().unwrap_or_default();
        ShardedMatrix::part_of(rank, values, Blocks::even([rows, cols], grid))
    };
    let wholes = mesh.run(|rank| {
        let (a, b) = (part(rank, &a)?, part(rank, &b)?);
        let c = blockwise_mesh::matmul(rank, &a, &b, &options)?;
        Ok::<_, Failure>(c.collect(rank)?)
    })?;
    mesh::whole(wholes, shape.rows, shape.cols)
}
