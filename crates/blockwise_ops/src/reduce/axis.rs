//! Reductions along one axis of an array.

use blockwise::{Device, DeviceProperties, Stream, View, ViewMut};
use kernels::reduce::RUN;
use ndarray::{ArrayD, ArrayViewD};

use super::problem::{Way, problem};
use super::{Number, code};
use crate::operation::{self, Axis, Given, Options, Plan, Reduction};
use crate::oracle::{self, Precision};
use crate::{LaunchError, LaunchPlan};

/// Blocks at most.
fn capped(grid_cap: Option<u32>) -> Options {
    Options {
        grid_cap,
        ..Options::default()
    }
}

/// Plans a reduction along an axis. `None` if the result has no elements, so that nothing is
/// launched.
///
/// # Errors
/// A minimum or maximum along an empty axis, and an exceeded limit.
pub fn plan_axis<T: Number>(
    axis: Axis,
    reduction: Reduction,
    grid_cap: Option<u32>,
    properties: &DeviceProperties,
) -> Result<Option<LaunchPlan>, LaunchError> {
    let problem = problem(T::TYPE, code(reduction), Way::Lines, axis)?;
    let of = super::operation(reduction);
    let plan = operation::plan(of, &problem, &capped(grid_cap), properties)?;
    Ok(plan.map(|plan| plan.launch))
}

/// The error of a sum along an axis before rounding, relative to the sum of its terms' magnitudes:
/// the same for any extent, because it is added in runs of 1024.
pub fn sum_error_along_axis<T: Precision>() -> f64 {
    oracle::widened::<T>(RUN + 2)
}

/// Starts a reduction along an axis of elements on the device.
pub(crate) fn enqueue_axis<'a, T: Number>(
    device: &Device,
    stream: Option<&Stream>,
    input: View<'a, T>,
    output: ViewMut<'a, T>,
    axis: Axis,
    reduction: Reduction,
) -> Result<(), LaunchError> {
    let problem = problem(T::TYPE, code(reduction), Way::Lines, axis)?;
    let of = super::operation(reduction);
    let (options, inputs) = (Options::default(), [input.into()]);
    let output = output.into();
    operation::enqueue(device, stream, of, &problem, &options, &inputs, output).map(drop)
}

/// Whether sums of a type are rounded, so that those of runs are kept in more precision.
pub(crate) fn rounds<T: Number>() -> bool {
    T::TYPE.is_float()
}

/// Starts the sums of runs that will be merged, along an axis of at most [`RUN`] elements: for each
/// output a result of [`Total::of_results`](super::Total::of_results).
///
/// # Errors
/// A type whose sums need no rounding, results of another length, and failures of the device.
pub fn enqueue_runs<'a, T: Number>(
    device: &Device,
    stream: Option<&Stream>,
    input: View<'a, T>,
    results: ViewMut<'a, u8>,
    axis: Axis,
    grid_cap: Option<u32>,
) -> Result<Plan, LaunchError> {
    let sum = Reduction::Sum;
    let problem = problem(T::TYPE, code(sum), Way::Runs, axis)?;
    let (options, of) = (capped(grid_cap), super::operation(sum));
    let (results, none) = results.split_at_mut(axis.outer * axis.inner * each::<T>());
    let (inputs, memory) = ([input.into()], [results.into(), none.into()]);
    let on = (device, stream);
    operation::enqueue_part(on, of, &problem, &options, &inputs, memory)
}

/// Bytes of a result that is not rounded.
pub(crate) const fn each<T: Number>() -> usize {
    size_of::<super::PartialOf<T>>()
}

/// Sum, minimum or maximum along one axis: an array with the shape without it. The sum along an
/// empty axis is 0.
///
/// # Errors
/// When there is no such axis, as for [`plan_axis`], and failures of the device.
pub fn reduce_axis<T: Number>(
    device: &Device,
    input: ArrayViewD<'_, T>,
    axis: isize,
    reduction: Reduction,
) -> Result<ArrayD<T>, LaunchError> {
    let along = Given {
        axis: Some(axis),
        ..Given::default()
    };
    let of = super::operation(reduction);
    operation::array(device, of, &along, &Options::default(), &[input])
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
