//! `blockwise matmul`.

use std::path::PathBuf;

use blockwise::{Buffer, Device, Plain as _};
use blockwise_mesh::{Grid, Mesh, ShardedMatmulOptions};
use blockwise_ops::matmul::plan;
use blockwise_ops::oracle::{self, Precision};
use blockwise_ops::{LaunchError, Matmul, MatmulKernel, MatmulOptions, MatmulShape, TensorMatmul};
use clap::Args;
use ndarray::Array2;
use serde_json::json;

use super::failure::Failure;
use super::mesh::{self, Gpus};
use super::operand::{self, Holds, MatrixFile, Reference};
use super::report::Report;
use super::seconds::{Seconds, on_one_device, timed};
use super::{Global, names, progress};
use crate::io::{Data, Kind, Number};

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

    /// One device's product.
    #[expect(clippy::type_complexity, reason = "what a closure is given and gives")]
    fn product<T: Precision>(
        &self,
        device: &Device,
        shape: MatmulShape,
    ) -> Result<
        impl FnOnce(&[Buffer<T>], &mut Buffer<T>) -> Result<(), LaunchError> + use<T>,
        LaunchError,
    > {
        let mut product = Matmul::new(device, shape, &self.launch())?;
        Ok(move |ab: &[Buffer<T>], c: &mut Buffer<T>| {
            product.enqueue(None, &ab[0], &ab[1], c).map(drop)
        })
    }
}

pub(super) fn run(global: &Global, arguments: &Arguments) -> Result<Report, Failure> {
    let files = [
        MatrixFile::open(&arguments.a)?,
        MatrixFile::open(&arguments.b)?,
    ];
    match (files[0].kind, files[1].kind) {
        (Kind::F32, Kind::F32) if arguments.tensor => {
            multiply(global, arguments, &files, |device, shape| {
                let mut product = TensorMatmul::new(device, shape)?;
                Ok(move |ab: &[Buffer<f32>], c: &mut _| product.enqueue(None, &ab[0], &ab[1], c))
            })
        }
        (Kind::F32, Kind::F32) => multiply(global, arguments, &files, |device, shape| {
            arguments.product::<f32>(device, shape)
        }),
        _ if arguments.tensor => Err(LaunchError::UnsupportedType {
            kernel: "tensor",
            supported: f32::NAME,
            given: f64::NAME,
        }
        .into()),
        // As NumPy promotes them, but integers too: there are kernels for floats only.
        _ => multiply(global, arguments, &files, |device, shape| {
            arguments.product::<f64>(device, shape)
        }),
    }
}

/// `ready` makes one device's product ready, before anything is read.
fn multiply<T: Precision + Number, P>(
    global: &Global,
    arguments: &Arguments,
    files: &[MatrixFile; 2],
    ready: impl FnOnce(&Device, MatmulShape) -> Result<P, LaunchError>,
) -> Result<Report, Failure>
where
    P: FnOnce(&[Buffer<T>], &mut Buffer<T>) -> Result<(), LaunchError>,
    Data: Holds<T>,
{
    let [a, b] = files;
    let shape = MatmulShape::of(a.shape.into(), b.shape.into()).map_err(|error| {
        let [a, b] = [&arguments.a, &arguments.b].map(|path| path.display());
        Failure::new(format!("{a} and {b}: {error}"))
    })?;
    if let (Some(a), Some(b)) = (a.largest_integer()?, b.largest_integer()?) {
        operand::notice_of_integers(a * b * shape.inner as f64);
    }
    let reference = arguments.reference.read()?;
    let mesh = global.linked_mesh(&arguments.gpus)?;
    let output = mesh::output(&mesh, &arguments.output)?;
    let clock = progress::clock("multiplying");
    let product = match mesh::alone(&mesh) {
        Some(device) => {
            let product = ready(device, shape)?;
            let mut seconds = Seconds::default();
            let [a, b] = timed(&mut seconds.reading, || {
                Ok::<_, Failure>([a.whole::<T>()?, b.whole::<T>()?])
            })?;
            let operands = [&a, &b].map(|matrix| matrix.as_slice().unwrap_or_default());
            let len = shape.rows.saturating_mul(shape.cols);
            let c = on_one_device(device, &mut seconds, &operands, len, product)?;
            let c = Array2::from_shape_vec((shape.rows, shape.cols), c);
            let overflow = |_| LaunchError::SizeOverflow { what: "the matrix" };
            Some((c.map_err(overflow)?, seconds))
        }
        None => divided::<T>(&mesh, arguments, shape, files)?,
    };
    clock.finish_and_clear();
    let (Some((c, mut seconds)), Some(output)) = (product, output) else {
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
            let oracle = oracle::matmul(a.whole::<T>()?.view(), b.whole::<T>()?.view());
            let path = path::<T>(
                arguments,
                MatmulShape::of(a.shape.into(), b.shape.into())?,
                &mesh,
            );
            let sums = [a.shape[1], path];
            let comparison = arguments.reference.compare(c.view(), &data, oracle, sums)?;
            report.comparison(&name, &comparison)
        }
    };
    let writing = seconds.writing.insert(0.0);
    timed(writing, || output.write(&Data::wrap(c.into_dyn())))?;
    Ok(report.with("seconds", json!(seconds)))
}

/// The roundings between a product and its sum: the inner extent, divided by the slices that are
/// added at the end.
fn path<T: Precision>(arguments: &Arguments, shape: MatmulShape, mesh: &Mesh) -> usize {
    // Of a slice's last step, which is a whole one.
    const STEP: usize = 64;
    let properties = mesh.devices()[0].properties();
    let plan = plan::<T>(shape, &arguments.launch(), properties);
    let slices = match plan {
        Ok(Some(plan)) if mesh.ranks() == 1 && !arguments.tensor => plan.grid[2] as usize,
        _ => 1,
    };
    shape
        .inner
        .min(shape.inner.div_ceil(slices) + STEP + slices)
}

/// The product of several devices, in the process of rank 0. Each rank reads its blocks only.
fn divided<T: Precision + Number>(
    mesh: &Mesh,
    arguments: &Arguments,
    shape: MatmulShape,
    files: &[MatrixFile; 2],
) -> Result<Option<(Array2<T>, Seconds)>, Failure> {
    let options = ShardedMatmulOptions {
        launch: arguments.launch(),
        tensor: arguments.tensor,
        panel: None,
    };
    let grid = Grid::for_product(shape, mesh.ranks());
    let wholes = mesh.run(|rank| {
        let mut seconds = Seconds::default();
        let [a, b] = files
            .each_ref()
            .map(|file| mesh::part::<T>(rank, file, grid, &mut seconds));
        let (a, b) = (a?, b?);
        let product = |rank: &mut _| blockwise_mesh::matmul(rank, &a, &b, &options);
        let whole = mesh::collected(rank, &mut seconds, product)?;
        Ok::<_, Failure>((whole, seconds))
    })?;
    mesh::whole(wholes, shape.rows, shape.cols)
}
