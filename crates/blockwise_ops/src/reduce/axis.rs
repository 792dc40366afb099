//! Reductions over one axis of an array.

use blockwise::{Device, DeviceProperties, Stream, View, ViewMut};
use kernels::reduce::axis::{fold_axis, sum_runs};
use kernels::reduce::{Addend, Max, Min, RUN, Sum, THREADS};
use ndarray::{ArrayD, ArrayViewD, IxDyn};

use super::{Number, PartialOf, Reduction};
use crate::launch::{On, Ready, Routine, routine};
use crate::limits::{blocks_for, plan_1d};
use crate::oracle::{self, Precision};
use crate::{Element, LaunchError, LaunchPlan, matrix_len, upload};

/// An array as a reduction over an axis sees it: `outer` × `extent` × `inner`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The product of the dimensions before the axis.
    pub outer: usize,
    /// The length of the axis.
    pub extent: usize,
    /// The product of the dimensions after it.
    pub inner: usize,
}

impl Axis {
    /// An axis of an array of this shape, counted from the front, or by negative numbers from the
    /// back.
    ///
    /// # Errors
    /// When the array has no such axis.
    pub fn of(shape: &[usize], axis: isize) -> Result<(usize, Self), LaunchError> {
        let dims = shape.len();
        let none = LaunchError::NoAxis { axis, dims };
        let counted = match axis {
            0.. => axis as usize,
            _ => dims.checked_sub(axis.unsigned_abs()).ok_or(none)?,
        };
        let &extent = shape
            .get(counted)
            .ok_or(LaunchError::NoAxis { axis, dims })?;
        let (outer, inner) = (&shape[..counted], &shape[counted + 1..]);
        let axis = Self {
            outer: outer.iter().product(),
            extent,
            inner: inner.iter().product(),
        };
        Ok((counted, axis))
    }
}

/// The input and output of a reduction over an axis.
pub struct AxisFold<'a, T: Element> {
    input: View<'a, T>,
    output: ViewMut<'a, T>,
    axis: Axis,
}

pub(crate) type AxisLaunch<T> = for<'a> fn(On<'a>, AxisFold<'a, T>) -> Result<(), blockwise::Error>;

/// The input and output of sums of runs of rows.
pub struct Runs<'a, T: Element + Addend> {
    input: View<'a, T>,
    partials: ViewMut<'a, PartialOf<T>>,
    axis: Axis,
}

pub(crate) type RunsLaunch<T> = for<'a> fn(On<'a>, Runs<'a, T>) -> Result<(), blockwise::Error>;

/// A type with kernels that reduce over an axis.
pub trait ReducesAxis: Element + Addend {
    /// The kernel of the reduction.
    fn axis(reduction: Reduction) -> Routine<AxisLaunch<Self>>;
    /// The kernel that leaves sums unrounded; `None` for a type whose sums need no rounding.
    fn runs() -> Option<Routine<RunsLaunch<Self>>>;
}

macro_rules! fold {
    ($t:ident, $Op:ident) => {
        routine!(fold_axis<$t, $Op>, |of| (
            (of.input, of.axis.outer * of.axis.extent, of.axis.inner),
            of.output,
            of.axis.extent
        ))
    };
}

macro_rules! runs {
    ($t:ident) => {
        Some(routine!(sum_runs<$t>, |of| (
            (of.input, of.axis.outer * of.axis.extent, of.axis.inner),
            of.partials,
            of.axis.extent
        )))
    };
}

macro_rules! reduces_axis {
    ($($t:ident: $runs:expr;)*) => {$(
        impl ReducesAxis for $t {
            fn axis(reduction: Reduction) -> Routine<AxisLaunch<Self>> {
                match reduction {
                    Reduction::Sum => fold!($t, Sum),
                    Reduction::Min => fold!($t, Min),
                    Reduction::Max => fold!($t, Max),
                }
            }

            fn runs() -> Option<Routine<RunsLaunch<Self>>> {
                $runs
            }
        }
    )*};
}
reduces_axis! {
    i64: None;
    f32: runs!(f32);
    f64: runs!(f64);
}

/// Plans a reduction over an axis. `None` if the result has no elements, so that nothing is
/// launched.
///
/// # Errors
/// A minimum or maximum over an empty axis, and an exceeded limit.
pub fn plan_axis<T: Number>(
    axis: Axis,
    reduction: Reduction,
    grid_cap: Option<u32>,
    properties: &DeviceProperties,
) -> Result<Option<LaunchPlan>, LaunchError> {
    Ok(prepare::<T>(axis, reduction, grid_cap, properties)?.map(|ready| ready.plan))
}

fn prepare<T: Number>(
    axis: Axis,
    reduction: Reduction,
    grid_cap: Option<u32>,
    properties: &DeviceProperties,
) -> Result<Option<Ready<AxisLaunch<T>>>, LaunchError> {
    // NumPy refuses it too, even if the result has no elements.
    if axis.extent == 0 && reduction != Reduction::Sum {
        return Err(LaunchError::EmptyInput {
            what: "the axis of a minimum or maximum",
        });
    }
    let outputs = matrix_len(axis.outer, axis.inner)?;
    let Routine { entry, launch } = T::axis(reduction);
    let blocks = blocks_for(outputs, THREADS, grid_cap, properties.max_grid[0]);
    let plan = plan_1d(entry.name, blocks, THREADS, 0, properties)?;
    Ok((outputs > 0).then_some(Ready { plan, launch }))
}

/// The error of a sum over an axis before rounding, relative to the sum of its terms' magnitudes:
/// the same for any extent, because it is added in runs of 1024.
pub fn sum_error_along_axis<T: Precision>() -> f64 {
    oracle::widened::<T>(RUN + 2)
}

/// Starts a reduction over an axis of elements on the device.
pub(crate) fn enqueue_axis<'a, T: Number>(
    device: &Device,
    stream: Option<&Stream>,
    input: View<'a, T>,
    output: ViewMut<'a, T>,
    axis: Axis,
    reduction: Reduction,
) -> Result<(), LaunchError> {
    let ready = prepare::<T>(axis, reduction, None, device.properties())?;
    if let Some(Ready { plan, launch }) = ready {
        let operands = AxisFold {
            input,
            output,
            axis,
        };
        launch(On::new(device, stream, &plan), operands)?;
    }
    Ok(())
}

/// Plans the sums of runs that will be merged, over an axis of at most [`RUN`] rows. `None` for a
/// type whose sums need no rounding.
///
/// # Errors
/// An exceeded limit.
pub fn plan_runs<T: Number>(
    axis: Axis,
    grid_cap: Option<u32>,
    properties: &DeviceProperties,
) -> Result<Option<LaunchPlan>, LaunchError> {
    let Some(Routine { entry, .. }) = T::runs() else {
        return Ok(None);
    };
    let outputs = matrix_len(axis.outer, axis.inner)?;
    let blocks = blocks_for(outputs, THREADS, grid_cap, properties.max_grid[0]);
    plan_1d(entry.name, blocks, THREADS, 0, properties).map(Some)
}

/// Starts it, on elements on the device.
pub(crate) fn enqueue_runs<'a, T: Number>(
    device: &Device,
    stream: Option<&Stream>,
    input: View<'a, T>,
    partials: ViewMut<'a, PartialOf<T>>,
    axis: Axis,
) -> Result<(), LaunchError> {
    let plan = plan_runs::<T>(axis, None, device.properties())?;
    if let (Some(plan), Some(Routine { launch, .. })) = (plan, T::runs()) {
        let operands = Runs {
            input,
            partials,
            axis,
        };
        launch(On::new(device, stream, &plan), operands)?;
    }
    Ok(())
}

/// Sum, minimum or maximum over one axis: an array with the shape without it. The sum over an empty
/// axis is 0.
///
/// # Errors
/// When there is no such axis, as for [`plan_axis`], and failures of the device.
pub fn reduce_axis<T: Number>(
    device: &Device,
    input: ArrayViewD<'_, T>,
    axis: isize,
    reduction: Reduction,
) -> Result<ArrayD<T>, LaunchError> {
    let (counted, axis) = Axis::of(input.shape(), axis)?;
    let mut shape = input.shape().to_vec();
    shape.remove(counted);
    // Refused before anything is copied.
    plan_axis::<T>(axis, reduction, None, device.properties())?;
    let input = upload(device, &input)?;
    let mut output = device.zeros(axis.outer * axis.inner)?;
    let (from, to) = (input.as_view(), output.as_view_mut());
    enqueue_axis(device, None, from, to, axis, reduction)?;
    let result = ArrayD::from_shape_vec(IxDyn(&shape), output.to_vec()?);
    Ok(result.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use ndarray::{ArrayD, Axis as Along, IxDyn};

    use super::*;

    #[test]
    fn every_axis_of_every_shape_is_ndarrays() {
        let device = Device::emulator();
        for shape in [
            vec![7],
            vec![3, 5],
            vec![2, 9, 4],
            vec![300, 2],
            vec![2, 3, 4, 5],
            vec![0, 3],
            vec![3, 0],
        ] {
            let mut next = 0;
            let input = ArrayD::from_shape_simple_fn(IxDyn(&shape), || {
                next = (next * 31 + 17) % 1009;
                next as i64
            });
            for axis in 0..shape.len() {
                let expected = input.sum_axis(Along(axis));
                for signed in [axis as isize, axis as isize - shape.len() as isize] {
                    let sum = reduce_axis(&device, input.view(), signed, Reduction::Sum);
                    assert_eq!(sum.unwrap(), expected, "{shape:?}, axis {signed}");
                }
                let least = reduce_axis(&device, input.view(), axis as isize, Reduction::Min);
                match shape[axis] {
                    0 => assert!(least.is_err()),
                    _ => assert_eq!(
                        least.unwrap(),
                        input.map_axis(Along(axis), |lane| lane.iter().copied().min().unwrap())
                    ),
                }
            }
        }
    }

    #[test]
    fn nan_wins_and_an_axis_that_is_not_there_is_named() {
        let device = Device::emulator();
        let values = vec![1.0, f32::NAN, 3.0, -4.0];
        let input = ArrayD::from_shape_vec(IxDyn(&[2, 2]), values).unwrap();
        let most = reduce_axis(&device, input.view(), 0, Reduction::Max).unwrap();
        assert_eq!(most[0], 3.0);
        assert!(most[1].is_nan());
        for axis in [2, -3] {
            let error = reduce_axis(&device, input.view(), axis, Reduction::Max).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("there is no axis {axis} in an array of 2 dimensions")
            );
        }
    }
}
