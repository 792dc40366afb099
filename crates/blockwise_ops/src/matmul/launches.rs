//! Products of buffers and of arrays.

use std::num::NonZeroU32;

use blockwise::{AnyView, AnyViewMut, Device, Matrix, Stream, ViewMut};
use ndarray::{Array, Array2, Array3, ArrayView2, ArrayView3, ArrayViewD, Dimension};

use super::{MATMUL, problem};
use crate::operation::{self, Call, Given, Options, Plan, Problem, are_aligned};
use crate::{Execution, Float, LaunchError, dimensions};

fn posed<T: Float>(a: Matrix<'_, T>, b: Matrix<'_, T>) -> Result<Problem, LaunchError> {
    problem(T::TYPE, [a.rows, a.cols], [b.rows, b.cols])
}

/// Starts C = A·B in a single launch, without memory of its own: products of slices of the inner
/// extent and of copies, which [`Call`] may choose, need some. `None` if C has no elements, so that
/// nothing is launched.
///
/// # Errors
/// Matrices that do not fit, an operand whose length is not its matrix's, limits that are broken,
/// and failures of the device.
pub fn enqueue<'a, T: Float>(
    device: &Device,
    stream: Option<&Stream>,
    a: Matrix<'a, T>,
    b: Matrix<'a, T>,
    c: impl Into<ViewMut<'a, T>>,
    options: &Options,
) -> Result<Option<Plan>, LaunchError> {
    let options = Options {
        count: options.count.or(NonZeroU32::new(1)),
        ..*options
    };
    operation::enqueue(
        device,
        stream,
        &MATMUL,
        &posed(a, b)?,
        &options,
        &[AnyView::from(a.view), AnyView::from(b.view)],
        c.into().into(),
    )
}

/// Computes C = A·B with the memory that the fastest method needs, and waits. `None` if there is
/// nothing to launch. The result has the same bits in every run.
///
/// # Errors
/// As for [`enqueue`].
pub fn matmul_buffers<'a, T: Float>(
    device: &Device,
    a: Matrix<'a, T>,
    b: Matrix<'a, T>,
    c: impl Into<ViewMut<'a, T>>,
    options: &Options,
) -> Result<Option<Execution>, LaunchError> {
    let problem = posed(a, b)?;
    let mut call = Call::new(device, &MATMUL, *options);
    let inputs = [AnyView::from(a.view), AnyView::from(b.view)];
    let c = AnyViewMut::from(c.into());
    call.prepare(&problem, are_aligned(&inputs, &c))?;
    Execution::of(device, || {
        let plan = call.enqueue(None, &problem, &inputs, c)?;
        Ok(plan.map(|plan| plan.launch))
    })
}

/// The products of a batch of matrices, in one launch: `[products, rows, columns]` on both sides.
/// One matrix on a side, `[1, rows, columns]`, is shared by all. Arrays with other strides are
/// copied.
///
/// # Errors
/// When the shapes do not match, and as for [`matmul_buffers`].
pub fn matmul_batch<T: Float>(
    device: &Device,
    a: ArrayView3<'_, T>,
    b: ArrayView3<'_, T>,
    options: &Options,
) -> Result<Array3<T>, LaunchError> {
    multiplied(device, [a.into_dyn(), b.into_dyn()], options)
}

/// The matrix product A·B. With an inner extent of 0 it is all zeros.
///
/// # Errors
/// When the shapes do not match, and as for [`matmul_buffers`].
pub fn matmul<T: Float>(
    device: &Device,
    a: ArrayView2<'_, T>,
    b: ArrayView2<'_, T>,
    options: &Options,
) -> Result<Array2<T>, LaunchError> {
    multiplied(device, [a.into_dyn(), b.into_dyn()], options)
}

fn multiplied<T: Float, D: Dimension>(
    device: &Device,
    inputs: [ArrayViewD<'_, T>; 2],
    options: &Options,
) -> Result<Array<T, D>, LaunchError> {
    dimensions(operation::array(
        device,
        &MATMUL,
        &Given::default(),
        options,
        &inputs,
    )?)
}
