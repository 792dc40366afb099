//! Reductions along one axis of an array.

use blockwise::{Device, Type};
use ndarray::{ArrayD, ArrayViewD};

use super::Number;
use super::problem::Way;
use crate::LaunchError;
use crate::array::AnyArray;
use crate::operation::{self, Given, Operation, Options, Problem, Reduction};

/// The problem of some elements of each line, whose results are merged with those of the others:
/// sums that are not rounded, as [`Total::of_results`](super::Total::of_results) takes them; or for
/// each line the index of the extreme among them, and after all indices the extremes.
#[must_use]
pub fn part_of(problem: &Problem, rows: usize) -> Problem {
    let mut part = *problem;
    part.extents[0] = rows;
    part.settings[1] = Way::Parts as u8;
    part
}

/// Bytes of a result that is not rounded.
pub(crate) const fn each<T: Number>() -> usize {
    size_of::<super::PartialOf<T>>()
}

/// Sum, minimum or maximum along one axis: an array with the shape without it. The sum along an
/// empty axis is 0.
///
/// # Errors
/// When there is no such axis, a minimum or maximum along an empty one, and failures of the device.
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

/// The indices of the smallest or largest elements ([`ARGMIN`](super::ARGMIN),
/// [`ARGMAX`](super::ARGMAX)) along an axis, or without one of all elements in row-major order.
///
/// ```
/// use blockwise::Device;
/// use blockwise_ops::reduce::{ARGMAX, index_along};
/// use ndarray::array;
///
/// let device = Device::any()?;
/// let rows = array![[1.0_f32, 7.0, 7.0], [5.0, f32::NAN, 6.0]].into_dyn();
/// let largest = index_along(&device, rows.view(), Some(1), &ARGMAX)?;
/// assert_eq!(largest, array![1, 1].into_dyn());
/// # Ok::<(), blockwise_ops::LaunchError>(())
/// ```
///
/// # Errors
/// When there is no such axis or it is empty, another operation, and failures of the device.
pub fn index_along<T: Number>(
    device: &Device,
    input: ArrayViewD<'_, T>,
    axis: Option<isize>,
    of: &'static Operation,
) -> Result<ArrayD<i64>, LaunchError> {
    let along = Given {
        axis,
        ..Given::default()
    };
    let posed = (of.pose)(T::TYPE, &[input.shape()], &along)?;
    let input = AnyArray::of(input)?;
    let (result, _) = operation::run(device, of, &posed, &Options::default(), &[input])?;
    let given = result.ty();
    result.into_typed().ok_or(LaunchError::OperandType {
        what: "the result",
        wanted: Type::I64,
        given: Some(given),
    })
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
