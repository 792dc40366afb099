//! The matrix product C = A·B of f32 on the tensor cores of compute capability 9.0, with an error
//! no larger than that of FP32 arithmetic.
//!
//! Three launches on one queue, with no host synchronisation in between. The first splits A and B
//! into three BF16 terms each, and records their ranges ([`kernels::matmul::split`]). The second
//! multiplies the terms if the ranges allow it ([`kernels::matmul::tensor`]). Otherwise
//! (infinities, NaN, very large or small elements) the third, which reads the same ranges,
//! multiplies in FP32 ([`kernels::matmul::pipelined`]).

use blockwise::{
    Buffer, Device, DeviceKind, DeviceProperties, Instance as _, Stream, View, ViewMut,
};
use kernels::matmul::split::{self, DEPTH, RANGE_WORDS, SIDE, matmul_split_f32};
use kernels::matmul::tensor::{SHARED_BYTES, TENSOR, THREADS, matmul_tensor_f32};
use ndarray::{Array2, ArrayView2};

use crate::launch::On;
use crate::limits::{blocks_for, plan_1d, plan_2d};
use crate::matmul::{self, Operands, check_operands};
use crate::{
    LaunchError, LaunchPlan, MatmulKernel, MatmulOptions, MatmulShape, download_matrix, matrix_len,
    upload,
};

/// The only compute capability that has these instructions.
const CAPABILITY: (u32, u32) = (9, 0);

/// A product of one shape, with the memory for its split operands.
pub struct TensorMatmul {
    device: Device,
    shape: MatmulShape,
    a: Buffer<u32>,
    b: Buffer<u32>,
    ranges: Buffer<u32>,
}

impl TensorMatmul {
    /// Allocates the memory: 6 bytes for each element of A and B, padded to whole tiles.
    ///
    /// # Errors
    /// [`LaunchError::TensorCores`] if the device lacks these instructions or its PTX does not use
    /// them; when a size overflows, or memory runs out.
    pub fn new(device: &Device, shape: MatmulShape) -> Result<Self, LaunchError> {
        check(device)?;
        matrix_len(shape.rows, shape.cols)?;
        let words = |side: usize| {
            split::words(side, shape.inner).ok_or(LaunchError::SizeOverflow {
                what: "the split matrix",
            })
        };
        Ok(Self {
            device: device.clone(),
            shape,
            a: device.zeros(words(shape.rows)?)?,
            b: device.zeros(words(shape.cols)?)?,
            ranges: device.zeros(2 * RANGE_WORDS)?,
        })
    }

    /// Starts a product of row-major matrices, on `stream` or else on the device's own queue.
    ///
    /// # Errors
    /// When an operand's length does not match the shape, and errors of the device.
    pub fn enqueue<'a>(
        &mut self,
        stream: Option<&Stream>,
        a: impl Into<View<'a, f32>>,
        b: impl Into<View<'a, f32>>,
        c: impl Into<ViewMut<'a, f32>>,
    ) -> Result<(), LaunchError> {
        let (a, b, mut c) = (a.into(), b.into(), c.into());
        let MatmulShape { rows, inner, cols } = self.shape;
        let (device, properties) = (&self.device, self.device.properties());
        check_operands(a, b, &c, self.shape)?;
        let options = MatmulOptions {
            kernel: Some(MatmulKernel::Pipelined),
            ..MatmulOptions::default()
        };
        let aligned = matmul::in_vectors(a, b, &c);
        let (shape, pitch) = (self.shape, self.shape.cols);
        let otherwise = matmul::prepare::<f32>(shape, pitch, aligned, &options, properties)?;
        let Some(mut otherwise) = otherwise else {
            return Ok(());
        };
        // The third launch strides over C, and usually has nothing to do.
        let few = 2 * properties.multiprocessors;
        otherwise.plan.grid[0] = otherwise.plan.grid[0].min(few);

        // All bits set is an empty range.
        self.ranges.fill_bytes_on(stream, 0xFF)?;
        let split =
            matmul_split_f32::on(device)?.shape(plan_split(self.shape, properties)?.shape());
        let tensor = matmul_tensor_f32::on(device)?.shape(plan(self.shape, properties)?.shape());
        let (split, tensor) = match stream {
            Some(stream) => (split.stream(stream), tensor.stream(stream)),
            None => (split, tensor),
        };
        let (of_a, of_b, ranges) = (&mut self.a, &mut self.b, &mut self.ranges);
        split.launch(a, b, of_a, of_b, ranges, rows, inner, cols)?;
        let (of_a, of_b, ranges) = (&self.a, &self.b, &self.ranges);
        tensor.launch(of_a, of_b, ranges, c.as_view_mut(), rows, inner, cols)?;
        let operands = Operands {
            unless: Some(self.ranges.as_view()),
            ..Operands::whole(a, b, c, self.shape)
        };
        (otherwise.launch)(On::new(device, stream, &otherwise.plan), operands)?;
        Ok(())
    }
}

/// The product A·B on tensor cores. With an inner extent of 0 it is all zeros.
///
/// # Errors
/// When the shapes do not match, and as for [`TensorMatmul`].
pub fn matmul_tensor(
    device: &Device,
    a: ArrayView2<'_, f32>,
    b: ArrayView2<'_, f32>,
) -> Result<Array2<f32>, LaunchError> {
    let shape = MatmulShape::of(a.dim(), b.dim())?;
    let mut product = TensorMatmul::new(device, shape)?;
    let (a, b) = (upload(device, &a)?, upload(device, &b)?);
    let mut c = device.zeros(matrix_len(shape.rows, shape.cols)?)?;
    product.enqueue(None, &a, &b, &mut c)?;
    download_matrix(&c, shape.rows, shape.cols)
}

/// Whether the device has these instructions, and its PTX uses them.
fn check(device: &Device) -> Result<(), LaunchError> {
    let properties = device.properties();
    let fits = properties.kind == DeviceKind::Cuda && properties.compute_capability == CAPABILITY;
    let missing = || LaunchError::TensorCores {
        device: properties.name.clone(),
    };
    if !fits {
        return Err(missing());
    }
    // PTX for other architectures lacks the kernel.
    match matmul_tensor_f32::on(device) {
        Ok(_) => Ok(()),
        Err(blockwise::Error::UnknownKernel { .. }) => Err(missing()),
        Err(error) => Err(error.into()),
    }
}

/// The launch that splits A and B.
///
/// # Errors
/// When a limit is exceeded.
pub fn plan_split(
    MatmulShape { rows, inner, cols }: MatmulShape,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    let blocks = |extent, per_block: usize, axis: usize| {
        blocks_for(extent, per_block as u32, None, properties.max_grid[axis])
    };
    let mut plan = plan_2d(
        matmul_split_f32::ENTRY.name,
        [blocks(inner, DEPTH, 0), blocks(rows.max(cols), SIDE, 1)],
        [split::THREADS, 1],
        properties,
    )?;
    plan.grid[2] = 2;
    Ok(plan)
}

/// The launch that multiplies: one block per multiprocessor.
fn plan(shape: MatmulShape, properties: &DeviceProperties) -> Result<LaunchPlan, LaunchError> {
    let tiles = shape
        .rows
        .div_ceil(TENSOR.rows)
        .saturating_mul(shape.cols.div_ceil(TENSOR.cols));
    plan_1d(
        matmul_tensor_f32::ENTRY.name,
        blocks_for(tiles, 1, None, properties.multiprocessors),
        THREADS,
        SHARED_BYTES as u64,
        properties,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::h200;

    #[test]
    fn the_emulator_refuses_and_says_what_it_takes() {
        let device = Device::emulator();
        let a = Array2::zeros((3, 4));
        let error = matmul_tensor(&device, a.view(), a.t()).expect_err("no such instructions");
        assert!(matches!(error, LaunchError::TensorCores { .. }), "{error}");
        assert!(
            error.to_string().contains("compute capability 9.0"),
            "{error}"
        );
        assert!(error.hint().is_some_and(|hint| hint.contains("sm_90a")));
    }

    #[test]
    fn one_block_a_multiprocessor_and_all_tiles_of_the_split() {
        let properties = DeviceProperties {
            multiprocessors: 132,
            ..h200()
        };
        let shape = |rows, cols| MatmulShape {
            rows,
            inner: 100,
            cols,
        };
        let planned = plan(shape(4096, 129), &properties).expect("allowed");
        assert_eq!((planned.grid, planned.block), ([64, 1, 1], [384, 1, 1]));
        let large = plan(shape(4096, 4096), &properties).expect("allowed");
        assert_eq!(large.grid, [132, 1, 1]);
        let planned = plan_split(shape(1, 129), &properties).expect("allowed");
        assert_eq!((planned.grid, planned.block), ([4, 2, 2], [256, 1, 1]));
    }
}
