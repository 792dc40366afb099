//! The CUDA C++ document's tiled matrix product, and the transpose.

use std::num::NonZeroU32;

use blockwise::{Buffer, Device, DeviceKind, Matrix, Type};
use blockwise_ops::compare;
use blockwise_ops::matmul::{self, MATMUL, matmul_buffers};
use blockwise_ops::operation::Problem;
use blockwise_ops::oracle;
use blockwise_ops::transpose::transpose_buffers;
use blockwise_ops::transpose::{self, TRANSPOSE};
use blockwise_ops::{Options, Variant};
use ndarray::Array2;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::row::Row;
use super::speed::Unit;
use super::timed::timed;
use super::{DemoError, Outcome, UNWRITTEN};

/// Width of the document's matrices.
const WIDTH: usize = 1024;

/// The same on the emulator, for an eighth of the work.
const EMULATED_WIDTH: usize = 512;

/// The kernels that multiply any two matrices of floats in one launch.
const PRODUCTS: [&Variant; 6] = [
    &matmul::NAIVE,
    &matmul::TILED,
    &matmul::TILED_RAW,
    &matmul::REGISTER_TILE,
    &matmul::PIPELINED,
    &matmul::SLICED,
];

pub(super) fn run(device: &Device, outcome: &mut Outcome<'_>) -> Result<(), DemoError> {
    let width = match device.properties().kind {
        DeviceKind::Emulator => {
            outcome.remarks.push(format!(
                "the document's matrix products are {EMULATED_WIDTH} wide on the emulator, {WIDTH} \
                 on a GPU"
            ));
            EMULATED_WIDTH
        }
        DeviceKind::Cuda => WIDTH,
    };
    products(device, [width; 3], outcome)?;
    // Not square, and not multiples of the tile.
    products(device, [67, 129, 45], outcome)?;
    transposes(device, outcome)
}

fn products(
    device: &Device,
    [rows, inner, cols]: [usize; 3],
    outcome: &mut Outcome<'_>,
) -> Result<(), DemoError> {
    let mut random = StdRng::seed_from_u64(10);
    // The document's inputs: (rand % 100) / 100.
    let mut matrix = |rows, cols| {
        Array2::from_shape_fn((rows, cols), |_| random.random_range(0..100) as f32 / 100.0)
    };
    let (a, b) = (matrix(rows, inner), matrix(inner, cols));
    let oracle = oracle::matmul(a.view(), b.view());
    let (a_buffer, b_buffer) = (
        device.upload(a.as_slice().unwrap_or(&[]))?,
        device.upload(b.as_slice().unwrap_or(&[]))?,
    );
    let mut c_buffer = device.zeros::<f32>(rows * cols)?;
    for kernel in PRODUCTS {
        let options = Options {
            count: NonZeroU32::new(1),
            ..Options::of(kernel)
        };
        c_buffer.fill_bytes(UNWRITTEN)?;
        let (a, b) = (
            Matrix::new(&a_buffer, rows, inner),
            Matrix::new(&b_buffer, inner, cols),
        );
        let Some(execution) = matmul_buffers(device, a, b, &mut c_buffer, &options)? else {
            continue;
        };
        let c = matrix_of(&c_buffer, rows, cols)?;
        let comparison = compare::with_oracle(c.view(), &oracle)?;
        let row = Row::compared(
            "matrix product",
            format!("{rows}x{inner} * {inner}x{cols}"),
            device,
            &execution,
            &comparison,
        );
        let problem = matmul::problem(Type::F32, [rows, inner], [inner, cols])?;
        let again = || matmul::enqueue(device, None, a, b, &mut c_buffer, &options).map(drop);
        let work = (MATMUL.work)(&problem);
        outcome.push(timed(row, device, work, Unit::Operations, again)?);
    }
    Ok(())
}

fn transposes(device: &Device, outcome: &mut Outcome<'_>) -> Result<(), DemoError> {
    for &kernel in TRANSPOSE.variants {
        // `quads` takes whole packs of four only.
        let (rows, cols) = match *kernel == transpose::QUADS {
            true => (1000, 704),
            false => (1000, 701),
        };
        let matrix = Array2::from_shape_fn((rows, cols), |(row, col)| (row * cols + col) as f32);
        let input = device.upload(matrix.as_slice().unwrap_or(&[]))?;
        let mut output = device.zeros::<f32>(rows * cols)?;
        let options = Options::of(kernel);
        output.fill_bytes(UNWRITTEN)?;
        let from = Matrix::new(&input, rows, cols);
        let Some(execution) = transpose_buffers(device, from, &mut output, &options)? else {
            continue;
        };
        let comparison = compare::exactly(
            matrix_of(&output, cols, rows)?.view(),
            oracle::transpose(matrix.view()).view(),
        )?;
        let row = Row::compared(
            "transpose",
            format!("{rows}x{cols} f32"),
            device,
            &execution,
            &comparison,
        );
        let work = (TRANSPOSE.work)(&Problem::new(Type::F32, &[rows, cols]));
        let again = || transpose::enqueue(device, None, from, &mut output, &options).map(drop);
        outcome.push(timed(row, device, work, Unit::Bytes, again)?);
    }
    Ok(())
}

/// A row-major matrix from the device; one of the wrong size would fail any comparison.
fn matrix_of(buffer: &Buffer<f32>, rows: usize, cols: usize) -> Result<Array2<f32>, DemoError> {
    Ok(Array2::from_shape_vec((rows, cols), buffer.to_vec()?).unwrap_or_default())
}
