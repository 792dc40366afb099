//! Dot product, sum, minimum and maximum.
//!
//! Each block folds its share into one partial result, and the host folds those in block order;
//! with [`SINGLE`] the last block does. If the options name no kernel, the operand's size chooses
//! one. With the same threads and blocks, the order of all operations, and so every bit of the
//! result, is the same on every device. The defaults of [`WIDE`] and [`SINGLE`] depend on the number
//! of multiprocessors.
//!
//! # How exact sums are
//!
//! Sums and dot products of `f32` are added in `f64`, those of `f64` in two terms, whole and along
//! an axis, for any length, and rounded once. With S the exact result and M the sum of the
//! magnitudes of its terms, the error is at most half a unit in the last place plus 2⁻⁴¹·M for
//! `f32`, 2⁻⁸⁰·M for `f64`. If M ≤ 2¹⁶·|S|, that is less than one unit; at least 999 arrays in 1000
//! are rounded correctly, and have the same bits for every kernel that the launcher chooses, device,
//! chunk and number of ranks. [`kernels::reduce::addend`] derives this. A `grid_cap` makes a thread's
//! share longer, and the bound larger: [`sum_error`].
//!
//! [`INTERLEAVED`], [`TREE`] and [`TREE_RAW`] are for teaching: they add in the element's type, as in
//! the documents that they follow.

mod axis;
mod choice;
mod description;
mod form;
mod partials;
mod problem;
mod reference;
#[doc(hidden)]
pub mod rows;
mod total;
mod variants;

use blockwise::{Device, DeviceProperties, Stream, View};
use ndarray::ArrayView1;

use crate::operation::{self, Operation, Options, Parts, Problem, Task, Variant};
use crate::{Execution, LaunchError, LaunchPlan, upload};

pub use crate::operation::{Axis, Reduction};
pub(crate) use axis::each;
pub use axis::{index_along, part_of, reduce_axis};
pub use description::{ARGMAX, ARGMIN, DOT, MAX, MEAN, MIN, SUM, same_length};
pub use form::{Folding, Form};
pub use partials::Partials;
pub(crate) use partials::{enqueue_to, ticket};
pub use total::{Number, PartialOf, Total};
pub use variants::{
    AXIS, INDEX, INTERLEAVED, KERNELS, SINGLE, TREE, TREE_RAW, WIDE, in_one_launch, on_the_host,
};

/// Default number of blocks of the first four kernels.
pub const DEFAULT_GRID_CAP: u32 = 1024;

/// The operation that merges elements so.
pub fn operation(reduction: Reduction) -> &'static Operation {
    match reduction {
        Reduction::Sum => &SUM,
        Reduction::Min => &MIN,
        Reduction::Max => &MAX,
    }
}

/// The problem of `len` elements in each operand.
///
/// # Errors
/// What the operation refuses.
pub(crate) fn whole<T: Number>(of: &Operation, len: usize) -> Result<Problem, LaunchError> {
    if matches!(of.parts, Parts::Folded(fold) if fold.is_index) {
        let operation = of.name;
        return Err(LaunchError::NotDivided { operation });
    }
    // Nothing is allocated.
    let len = [len];
    let shapes = [&len[..]; 2];
    let shapes = &shapes[..of.operands.len()];
    let posed = (of.pose)(T::TYPE, shapes, &operation::Given::default())?;
    Ok(posed.problem)
}

/// The error of a sum or dot product of `len` elements before rounding, relative to the sum of its
/// terms' magnitudes; 0 of what is exact. It follows from the additions on the longest path of an
/// element: see [`kernels::reduce::addend`].
///
/// # Errors
/// What the operation refuses.
pub fn sum_error<T: Number>(
    of: &'static Operation,
    len: usize,
    options: &Options,
    device: &DeviceProperties,
) -> Result<f64, LaunchError> {
    let problem = whole::<T>(of, len)?;
    error_of(of, &problem, options, device)
}

/// The same of any problem.
pub fn error_of(
    of: &'static Operation,
    problem: &Problem,
    options: &Options,
    device: &DeviceProperties,
) -> Result<f64, LaunchError> {
    let variant = operation::choose(of, problem, options, device)?.variant;
    let error = variants::plan::error(&Task::new(variant, problem, options, device));
    Ok(error.unwrap_or_default())
}

/// The kernel for `len` elements in each operand.
///
/// # Errors
/// What the operation refuses.
pub fn kernel<T: Number>(
    of: &'static Operation,
    len: usize,
    options: &Options,
    device: &DeviceProperties,
) -> Result<&'static Variant, LaunchError> {
    operation::choose(of, &whole::<T>(of, len)?, options, device).map(|choice| choice.variant)
}

/// Plans an operation on operands of `len` elements, with one partial result per block.
///
/// # Errors
/// For a minimum or maximum of no elements, when a limit is exceeded, or the kernel needs whole
/// warps and the threads are not.
pub fn plan<T: Number>(
    of: &'static Operation,
    len: usize,
    options: &Options,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    let problem = whole::<T>(of, len)?;
    let plan = operation::plan(of, &problem, options, properties)?;
    // A whole reduction has one result, of nothing too.
    plan.map(|plan| plan.launch).ok_or(LaunchError::EmptyInput {
        what: "the operand",
    })
}

/// Starts an operation on all elements of its operands.
///
/// # Errors
/// Those of [`plan`], operands of other lengths, partials for fewer blocks, and failures of the
/// device.
pub fn enqueue<T: Number>(
    device: &Device,
    stream: Option<&Stream>,
    of: &'static Operation,
    inputs: &[View<'_, T>],
    partials: &mut Partials<T>,
    options: &Options,
) -> Result<LaunchPlan, LaunchError> {
    let lens = [0, 1].map(|at| inputs.get(at).or(inputs.first()).map_or(0, View::len));
    same_length(lens[0], lens[1])?;
    let problem = whole::<T>(of, lens[0])?;
    let on = (device, stream);
    match *inputs {
        [a, b] => partials.enqueue(on, of, &problem, options, &[a.into(), b.into()]),
        [a] => partials.enqueue(on, of, &problem, options, &[a.into()]),
        _ => partials.enqueue(on, of, &problem, options, &[]),
    }
}

/// An operation on operands on the device.
fn buffers<T: Number>(
    device: &Device,
    of: &'static Operation,
    inputs: &[View<'_, T>],
    options: &Options,
) -> Result<(T, Execution), LaunchError> {
    let len = inputs.first().map_or(0, View::len);
    let plan = plan::<T>(of, len, options, device.properties())?;
    let mut partials = Partials::alloc(device, &plan)?;
    let execution = Execution::of(device, || {
        enqueue(device, None, of, inputs, &mut partials, options)
    })?;
    let Parts::Folded(fold) = of.parts else {
        let operation = of.name;
        return Err(LaunchError::NotDivided { operation });
    };
    Ok((partials.fold(fold.by)?, execution))
}

/// The dot product of two operands on the device.
///
/// # Errors
/// Operands of unlike lengths, those of [`plan`], and failures of the device.
pub fn dot_buffers<'a, T: Number>(
    device: &Device,
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    options: &Options,
) -> Result<(T, Execution), LaunchError> {
    buffers(device, &DOT, &[a.into(), b.into()], options)
}

/// Sum, minimum or maximum of an operand on the device.
///
/// # Errors
/// Those of [`plan`], and failures of the device.
pub fn reduce_buffer<'a, T: Number>(
    device: &Device,
    input: impl Into<View<'a, T>>,
    reduction: Reduction,
    options: &Options,
) -> Result<(T, Execution), LaunchError> {
    buffers(device, operation(reduction), &[input.into()], options)
}

/// The dot product Σ a\[i\] · b\[i\]; 0 for no elements.
///
/// # Errors
/// As for [`dot_buffers`].
pub fn dot<T: Number>(
    device: &Device,
    a: ArrayView1<'_, T>,
    b: ArrayView1<'_, T>,
    options: &Options,
) -> Result<T, LaunchError> {
    // Checked before anything is copied.
    same_length(a.len(), b.len())?;
    plan::<T>(&DOT, a.len(), options, device.properties())?;
    let (a, b) = (upload(device, &a)?, upload(device, &b)?);
    Ok(dot_buffers(device, &a, &b, options)?.0)
}

/// Sum, minimum or maximum of the elements.
///
/// # Errors
/// As for [`reduce_buffer`].
pub fn reduce<T: Number>(
    device: &Device,
    input: ArrayView1<'_, T>,
    reduction: Reduction,
    options: &Options,
) -> Result<T, LaunchError> {
    // Checked before anything is copied.
    plan::<T>(
        operation(reduction),
        input.len(),
        options,
        device.properties(),
    )?;
    let input = upload(device, &input)?;
    Ok(reduce_buffer(device, &input, reduction, options)?.0)
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, array};

    use super::*;

    /// Unsigned integers go to the kernels of signed ones.
    #[test]
    fn extremes_order_integers_with_and_without_a_sign() {
        fn check<T: Number + Ord>(values: [T; 5]) {
            let device = Device::emulator();
            // A pack, a tile and more; more blocks than a warp has lanes.
            for len in [1, 5, 300] {
                let values = Array1::from_iter(values.iter().copied().cycle().take(len));
                for kernel in [&WIDE, &SINGLE] {
                    let options = Options {
                        threads: Some(32),
                        ..Options::of(kernel)
                    };
                    let of = |by| reduce(&device, values.view(), by, &options).unwrap();
                    let expected = [values.iter().min(), values.iter().max()];
                    let got = [Reduction::Min, Reduction::Max].map(of);
                    assert_eq!(got.each_ref().map(Some), expected, "{kernel} of {len}");
                }
            }
        }
        check([7, 1 << 63, u64::MAX, 0, (1 << 63) - 1]);
        check([7, i64::MAX, -1, i64::MIN, 0]);
        check([u64::MAX; 5]);
        check([i64::MAX; 5]);
        check([i64::MIN; 5]);
        check([0_u64; 5]);
    }

    /// As those of the other operations: of any shape, to an array of none.
    #[test]
    fn a_whole_array_is_folded_to_an_array_of_no_dimension() {
        let device = Device::emulator();
        let rows = array![[1.0_f64, 2.0, 1e300], [4.0, -1e300, f64::NAN]].into_dyn();
        let of = |of, given: &operation::Given| {
            operation::array(&device, of, given, &Options::default(), &[rows.view()])
        };
        let whole = operation::Given::default();
        let least = of(&MIN, &whole).unwrap();
        assert!(least.shape().is_empty() && least.first().unwrap().is_nan());
        let axis = Some(0);
        let sums = of(&SUM, &operation::Given { axis, ..whole }).unwrap();
        assert_eq!(sums.as_slice().unwrap()[..2], [5.0, -1e300]);
        let none = ndarray::ArrayD::<f32>::zeros(ndarray::IxDyn(&[0]));
        let options = Options::default();
        let sum = operation::array(&device, &SUM, &whole, &options, &[none.view()]).unwrap();
        assert_eq!(sum.first(), Some(&0.0));
        assert!(operation::array(&device, &MAX, &whole, &options, &[none.view()]).is_err());
    }
}
