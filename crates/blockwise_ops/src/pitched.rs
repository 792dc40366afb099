//! The matrix product C = A·B of f32 for extents that are not multiples of a 16-byte vector.
//!
//! Two launches on one queue, with no host synchronisation in between: the first copies A and B to
//! rows that start at memory sectors ([`kernels::matmul::pitched`]); the second multiplies the
//! copies, loading 16 bytes per access. The result has the same bits as that of
//! [`kernels::matmul::pipelined`].

use blockwise::{
    Buffer, Device, DeviceProperties, Instance as _, Plain as _, Stream, View, ViewMut,
};
use kernels::matmul::pitched::{ITEMS, THREADS, matmul_pipelined_pitched_f32, matmul_pitch_f32};
use kernels::matmul::policy::{PITCHED, PITCHED_FROM, VECTOR, pitch};

use crate::launch::{On, Routine};
use crate::limits::{blocks_for, plan_1d, plan_2d};
use crate::matmul::{Copied, CopyLaunch, Operands, Pitched, check_operands};
use crate::{Float, LaunchError, LaunchPlan, MatmulShape, matrix_len};

/// A matrix product of one shape, with the memory for the copies of its operands.
pub struct PitchedMatmul<T: Float> {
    device: Device,
    shape: MatmulShape,
    routines: Pitched<T>,
    plan_copy: LaunchPlan,
    plan: LaunchPlan,
    a: Buffer<T>,
    b: Buffer<T>,
}

impl<T: Float> PitchedMatmul<T> {
    /// Whether this is the fastest method for this type and shape.
    pub fn pays(shape: MatmulShape) -> bool {
        T::pitched().is_some()
            && !shape.cols.is_multiple_of(VECTOR)
            && shape.rows.min(shape.inner).min(shape.cols) >= PITCHED_FROM
    }

    /// The product; `None` if another method is faster or memory runs out.
    pub(crate) fn where_it_pays(
        device: &Device,
        shape: MatmulShape,
    ) -> Result<Option<Self>, LaunchError> {
        if !Self::pays(shape) {
            return Ok(None);
        }
        match Self::new(device, shape) {
            Err(LaunchError::Device(blockwise::Error::OutOfMemory { .. })) => Ok(None),
            product => product.map(Some),
        }
    }

    /// Allocates the copies: as large as A and B, plus up to seven elements per row.
    ///
    /// # Errors
    /// When the type has no such kernels, a size overflows, a limit is exceeded, or memory runs
    /// out.
    pub fn new(device: &Device, shape: MatmulShape) -> Result<Self, LaunchError> {
        let routines = routines::<T>()?;
        let room = |rows, cols| -> Result<_, LaunchError> {
            Ok(device.zeros(matrix_len(rows, pitch(cols))?)?)
        };
        let MatmulShape { rows, inner, cols } = shape;
        matrix_len(rows, cols)?;
        let properties = device.properties();
        Ok(Self {
            device: device.clone(),
            shape,
            routines,
            plan_copy: plan_copy(shape, properties)?,
            plan: plan(shape, properties)?,
            a: room(rows, inner)?,
            b: room(inner, cols)?,
        })
    }

    /// Starts a product of row-major matrices, on `stream` or else on the device's own queue.
    /// Returns the launch that multiplies; `None` if C is empty and nothing is launched.
    ///
    /// # Errors
    /// When an operand's length does not match the shape, and errors of the device.
    pub fn enqueue<'a>(
        &mut self,
        stream: Option<&Stream>,
        a: impl Into<View<'a, T>>,
        b: impl Into<View<'a, T>>,
        c: impl Into<ViewMut<'a, T>>,
    ) -> Result<Option<LaunchPlan>, LaunchError> {
        let (a, b, c, shape) = (a.into(), b.into(), c.into(), self.shape);
        check_operands(a, b, &c, shape)?;
        if c.is_empty() {
            return Ok(None);
        }
        let on = |plan| On::new(&self.device, stream, plan);
        if shape.inner > 0 {
            let copied = Copied {
                a,
                b,
                of_a: self.a.as_view_mut(),
                of_b: self.b.as_view_mut(),
                shape,
            };
            (self.routines.copy.launch)(on(&self.plan_copy), copied)?;
        }
        let (a, b) = (self.a.as_view(), self.b.as_view());
        let operands = Operands::whole(a, b, c, shape);
        (self.routines.product.launch)(on(&self.plan), operands)?;
        Ok(Some(self.plan))
    }
}

/// A copy of B alone, for products in slices: the `sliced` kernel reads A element by element, but B
/// in vectors.
pub(crate) struct PitchedCopy<T: Float> {
    shape: MatmulShape,
    copy: Routine<CopyLaunch<T>>,
    plan: LaunchPlan,
    /// Stands in for the copy of A: no elements.
    none: Buffer<T>,
    b: Buffer<T>,
}

impl<T: Float> PitchedCopy<T> {
    /// Allocates the memory.
    ///
    /// # Errors
    /// As for [`PitchedMatmul::new`].
    pub(crate) fn new(device: &Device, shape: MatmulShape) -> Result<Self, LaunchError> {
        let shape = MatmulShape { rows: 0, ..shape };
        let len = matrix_len(shape.inner, pitch(shape.cols))?;
        Ok(Self {
            shape,
            copy: routines::<T>()?.copy,
            plan: plan_copy(shape, device.properties())?,
            none: device.zeros(0)?,
            b: device.zeros(len)?,
        })
    }

    /// Starts the copy. Returns its memory and its pitch, the elements from one row's start to the
    /// next.
    pub(crate) fn enqueue(
        &mut self,
        device: &Device,
        stream: Option<&Stream>,
        b: View<'_, T>,
    ) -> Result<(View<'_, T>, usize), LaunchError> {
        if self.shape.inner > 0 {
            let copied = Copied {
                a: b.view(..0),
                b,
                of_a: self.none.as_view_mut(),
                of_b: self.b.as_view_mut(),
                shape: self.shape,
            };
            (self.copy.launch)(On::new(device, stream, &self.plan), copied)?;
        }
        Ok((self.b.as_view(), pitch(self.shape.cols)))
    }
}

/// The two kernels for `T`.
fn routines<T: Float>() -> Result<Pitched<T>, LaunchError> {
    T::pitched().ok_or(LaunchError::UnsupportedType {
        kernel: "pitched",
        supported: f32::NAME,
        given: T::NAME,
    })
}

/// The launch that copies A and B.
///
/// # Errors
/// When a limit is exceeded.
pub fn plan_copy(
    MatmulShape { rows, inner, cols }: MatmulShape,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    let blocks =
        |extent, each, axis: usize| blocks_for(extent, each, None, properties.max_grid[axis]);
    let widest = if rows > 0 { inner.max(cols) } else { cols };
    let mut plan = plan_2d(
        matmul_pitch_f32::ENTRY.name,
        [
            blocks(pitch(widest), THREADS * ITEMS as u32, 0),
            blocks(rows.max(inner), 1, 1),
        ],
        [THREADS, 1],
        properties,
    )?;
    plan.grid[2] = 2;
    Ok(plan)
}

/// The launch that multiplies the copies.
///
/// # Errors
/// When a limit is exceeded.
pub fn plan(shape: MatmulShape, properties: &DeviceProperties) -> Result<LaunchPlan, LaunchError> {
    plan_1d(
        matmul_pipelined_pitched_f32::ENTRY.name,
        blocks_for(
            PITCHED.tiles(shape.rows, shape.cols),
            1,
            None,
            properties.max_grid[0],
        ),
        PITCHED.threads() as u32,
        PITCHED.shared_bytes() as u64,
        properties,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::h200;

    fn shape(rows: usize, inner: usize, cols: usize) -> MatmulShape {
        MatmulShape { rows, inner, cols }
    }

    #[test]
    fn it_pays_for_large_products_of_f32_whose_columns_are_not_whole_vectors() {
        for (shape, pays) in [
            (shape(512, 512, 513), true),
            (shape(512, 512, 516), false),
            (shape(511, 9000, 9001), false),
            (shape(9000, 511, 9001), false),
            (shape(9000, 9000, 511), false),
        ] {
            assert_eq!(PitchedMatmul::<f32>::pays(shape), pays, "{shape:?}");
            assert!(!PitchedMatmul::<f64>::pays(shape));
        }
    }

    #[test]
    fn the_copies_cover_whole_rows_and_both_operands() {
        let planned = plan_copy(shape(3, 70_000, 1017), &h200()).expect("allowed");
        assert_eq!(
            (planned.grid, planned.block),
            ([69, 65_535, 2], [256, 1, 1])
        );
        let planned = plan(shape(129, 5, 65), &h200()).expect("allowed");
        assert_eq!((planned.grid, planned.block), ([4, 1, 1], [128, 1, 1]));
        assert_eq!(planned.dynamic_shared_bytes, 4 * 3 * 16 * (132 + 64));
    }

    #[test]
    fn doubles_and_sizes_beyond_memory_are_refused() {
        let device = Device::emulator();
        let refused = PitchedMatmul::<f64>::new(&device, shape(3, 4, 5))
            .err()
            .expect("f32 only");
        assert!(refused.to_string().contains("f32"), "{refused}");
        for shape in [
            shape(usize::MAX, 3, 4),
            shape(3, usize::MAX, 4),
            shape(3, 4, usize::MAX),
        ] {
            assert!(
                PitchedMatmul::<f32>::new(&device, shape).is_err(),
                "{shape:?}"
            );
        }
    }
}
