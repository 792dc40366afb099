//! The matrix product C = A·B of f32 on the tensor cores of compute capability 9.0, with an error no larger than that of FP32
//! arithmetic.
//!
//! Three launches, in order, without any wait of the host: A and B are split into three BF16 terms each, and their ranges are noted
//! ([`kernels::matmul::split`]); the product of the terms is computed where those ranges allow it ([`kernels::matmul::tensor`]); where
//! they do not, for infinities, NaN and the very large or small, the same words let FP32 arithmetic compute it
//! ([`kernels::matmul::pipelined`]).

use kernels::matmul::split::{self, DEPTH, RANGE_WORDS, SIDE, TILE_WORDS};
use kernels::matmul::tensor::{SHARED_BYTES, TENSOR, THREADS};
use ndarray::{Array2, ArrayView2};

use crate::device::{
    Arguments, Device, DeviceBuffer, DeviceKind, DeviceProperties, LaunchPlan, PtxFile,
};

use super::limits::{blocks_for, plan_1d, plan_2d};
use super::matmul::{self, MatmulKernel, MatmulOptions, MatmulShape};
use super::{Launch, LaunchError, download_matrix, matrix_len, upload};

/// The only compute capability that has these instructions.
const CAPABILITY: (u32, u32) = (9, 0);

/// A product of one shape, with the memory for its split operands.
pub struct TensorMatmul<'a> {
    device: &'a Device,
    shape: MatmulShape,
    a: DeviceBuffer<u32>,
    b: DeviceBuffer<u32>,
    ranges: DeviceBuffer<u32>,
}

impl<'a> TensorMatmul<'a> {
    /// Takes the memory: 6 bytes for each element of A and B, filled up to whole tiles.
    ///
    /// # Errors
    /// [`LaunchError::TensorCores`] when the device has no such instructions or its PTX does not use them, when a size overflows, and when there
    /// is no room.
    pub fn new(device: &'a Device, shape: MatmulShape) -> Result<Self, LaunchError> {
        check(device)?;
        matrix_len(shape.rows, shape.cols)?;
        let words = |side: usize| {
            matrix_len(side.div_ceil(SIDE), shape.inner.div_ceil(DEPTH))?
                .checked_mul(TILE_WORDS)
                .ok_or(LaunchError::SizeOverflow {
                    what: "the split matrix",
                })
        };
        Ok(Self {
            device,
            shape,
            a: DeviceBuffer::alloc(device, words(shape.rows)?)?,
            b: DeviceBuffer::alloc(device, words(shape.cols)?)?,
            ranges: DeviceBuffer::alloc(device, 2 * RANGE_WORDS)?,
        })
    }

    /// Starts a product behind all that was started before.
    ///
    /// # Errors
    /// A buffer whose length is not its matrix's, and what goes wrong on the device.
    pub fn enqueue(
        &mut self,
        a: &DeviceBuffer<f32>,
        b: &DeviceBuffer<f32>,
        c: &mut DeviceBuffer<f32>,
    ) -> Result<(), LaunchError> {
        let MatmulShape { rows, inner, cols } = self.shape;
        let (device, properties) = (self.device, self.device.properties());
        let options = MatmulOptions {
            kernel: Some(MatmulKernel::Pipelined),
            ..MatmulOptions::default()
        };
        matmul::check_buffers(a, b, c, self.shape)?;
        let Some(mut otherwise) = matmul::plan::<f32>(self.shape, &options, properties)? else {
            return Ok(());
        };
        // Its blocks stride over C, and mostly find nothing to do.
        otherwise.grid[0] = otherwise.grid[0].min(2 * properties.multiprocessors);

        // All bits set is a range of nothing.
        self.ranges.poison()?;
        let arguments = Arguments::new()
            .slice(a)
            .slice(b)
            .pointer(&mut self.a)
            .pointer(&mut self.b)
            .pointer(&mut self.ranges)
            .value(rows as u64)
            .value(inner as u64)
            .value(cols as u64);
        // SAFETY: these are the kernel's parameters; the tiles have room for the shape.
        unsafe { Launch::new(device, plan_split(self.shape, properties)?, arguments)?.enqueue()? };
        let arguments = Arguments::new()
            .address(&self.a)
            .address(&self.b)
            .address(&self.ranges)
            .pointer(c)
            .value(rows as u64)
            .value(inner as u64)
            .value(cols as u64);
        // SAFETY: these are the kernel's parameters; the operands were split for this shape, and C has its length.
        unsafe { Launch::new(device, plan(self.shape, properties)?, arguments)?.enqueue()? };
        let (operands, unless) = ([a, b], Some(&self.ranges));
        // SAFETY: the plan is for this shape, and the buffers' lengths were checked.
        unsafe { matmul::launch(device, otherwise, operands, c, self.shape, unless)?.enqueue() }
    }
}

/// The product A·B on tensor cores. With no inner extent it is all zeros.
///
/// # Errors
/// When the shapes do not fit, and as for [`TensorMatmul`].
pub fn matmul_tensor(
    device: &Device,
    a: ArrayView2<'_, f32>,
    b: ArrayView2<'_, f32>,
) -> Result<Array2<f32>, LaunchError> {
    let shape = MatmulShape::of(a.dim(), b.dim())?;
    let mut product = TensorMatmul::new(device, shape)?;
    let (a, b) = (upload(device, &a)?, upload(device, &b)?);
    let mut c = DeviceBuffer::alloc(device, matrix_len(shape.rows, shape.cols)?)?;
    c.poison()?;
    product.enqueue(&a, &b, &mut c)?;
    device.synchronize()?;
    download_matrix(&c, shape.rows, shape.cols)
}

/// Whether the device has these instructions, and its PTX uses them.
fn check(device: &Device) -> Result<(), LaunchError> {
    let properties = device.properties();
    let fits = properties.kind == DeviceKind::Cuda && properties.compute_capability == CAPABILITY;
    if fits
        && device
            .kernels_file()
            .is_some_and(PtxFile::is_for_one_architecture)
    {
        return Ok(());
    }
    Err(LaunchError::TensorCores {
        device: properties.name.clone(),
    })
}

/// The launch that splits A and B.
///
/// # Errors
/// When a limit is broken.
pub fn plan_split(
    MatmulShape { rows, inner, cols }: MatmulShape,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    let blocks = |extent, per_block: usize, axis: usize| {
        blocks_for(extent, per_block as u32, None, properties.max_grid[axis])
    };
    let mut plan = plan_2d(
        "matmul_split_f32".into(),
        [blocks(inner, DEPTH, 0), blocks(rows.max(cols), SIDE, 1)],
        [split::THREADS, 1],
        properties,
    )?;
    plan.grid[2] = 2;
    Ok(plan)
}

/// The launch that multiplies: one block for each multiprocessor.
fn plan(shape: MatmulShape, properties: &DeviceProperties) -> Result<LaunchPlan, LaunchError> {
    let tiles = shape
        .rows
        .div_ceil(TENSOR.rows)
        .saturating_mul(shape.cols.div_ceil(TENSOR.cols));
    plan_1d(
        "matmul_tensor_f32".into(),
        blocks_for(tiles, 1, None, properties.multiprocessors),
        THREADS,
        SHARED_BYTES as u64,
        properties,
    )
}

#[cfg(test)]
mod tests {
    use super::super::limits::h200;
    use super::*;

    #[test]
    fn the_emulator_refuses_and_says_what_it_takes() {
        let device = Device::emulator(Default::default());
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
