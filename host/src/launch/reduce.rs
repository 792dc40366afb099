//! Dot product, sum, minimum and maximum.
//!
//! Each block folds its share into one partial result, and the host folds the partials in the order of the blocks.
//! With the same options the order of all operations is the same on every device, and so is every bit of the result.

use ndarray::ArrayView1;

use crate::device::{Arguments, Device, DeviceBuffer, DeviceProperties, Element, LaunchPlan};
use crate::named::named_enum;

use super::limits::{blocks_for, plan_1d};
use super::{Execution, Launch, LaunchError, check_output, upload};

named_enum! {
    /// What a reduction of one operand computes.
    pub enum Reduction("reduction") {
        /// The sum; 0 of nothing. Integers wrap around, as in NumPy.
        Sum = "sum",
        /// The smallest element; NaN if there is one.
        Min = "min",
        /// The largest element; NaN if there is one.
        Max = "max",
    }
}

named_enum! {
    /// The kernels that reduce.
    pub enum ReduceKernel("reduction kernel") {
        /// A tree in shared memory that folds neighbours first, with bank conflicts; for any number of threads.
        Interleaved = "interleaved",
        /// A halving tree in shared memory, for any number of threads.
        Tree = "tree",
        /// Warps fold by shuffles; the block is whole warps.
        Shuffle = "shuffle",
    }
}

/// The types that can be reduced.
pub trait Number: Element {
    /// Folds two partial results into one.
    fn fold(self, other: Self, reduction: Reduction) -> Self;
}

impl Number for i64 {
    fn fold(self, other: Self, reduction: Reduction) -> Self {
        match reduction {
            Reduction::Sum => self.wrapping_add(other),
            Reduction::Min => self.min(other),
            Reduction::Max => self.max(other),
        }
    }
}

macro_rules! number_of_floats {
    ($($float:ty),*) => { $(
        impl Number for $float {
            fn fold(self, other: Self, reduction: Reduction) -> Self {
                match reduction {
                    Reduction::Sum => self + other,
                    // The standard library's `min` and `max` would lose a NaN.
                    _ if self.is_nan() => self,
                    _ if other.is_nan() => other,
                    Reduction::Min => self.min(other),
                    Reduction::Max => self.max(other),
                }
            }
        }
    )* };
}
number_of_floats!(f32, f64);

/// Blocks of a reduction, unless asked for otherwise. It is the same for every device, and with it the result's bits.
pub const DEFAULT_GRID_CAP: u32 = 1024;

/// How to launch a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReduceOptions {
    /// The kernel.
    pub kernel: ReduceKernel,
    /// Threads per block. `None` takes the kernels' own number.
    pub threads: Option<u32>,
    /// Blocks, at most. `None` takes [`DEFAULT_GRID_CAP`].
    pub grid_cap: Option<u32>,
}

impl Default for ReduceOptions {
    fn default() -> Self {
        Self {
            kernel: ReduceKernel::Shuffle,
            threads: None,
            grid_cap: None,
        }
    }
}

/// Plans the reduction of `len` elements of type `T`; one partial result per block. `operation` is `dot`, `sum`, `min`
/// or `max`.
///
/// # Errors
/// When a limit is broken, or the kernel needs whole warps and the threads are none.
fn plan<T: Number>(
    operation: &str,
    len: usize,
    options: &ReduceOptions,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    let threads = options.threads.unwrap_or(kernels::reduce::THREADS);
    let cap = options.grid_cap.unwrap_or(DEFAULT_GRID_CAP);
    let blocks = blocks_for(len, threads, Some(cap), properties.max_grid[0]);
    let shared_bytes = match options.kernel {
        ReduceKernel::Interleaved | ReduceKernel::Tree => {
            u64::from(threads) * size_of::<T>() as u64
        }
        ReduceKernel::Shuffle if !threads.is_multiple_of(properties.warp_size) => {
            return Err(LaunchError::NotWholeWarps {
                threads,
                warp_size: properties.warp_size,
                kernel: options.kernel.name(),
            });
        }
        ReduceKernel::Shuffle => 0,
    };
    let kernel = format!("{operation}_{}_{}", options.kernel, T::NAME);
    plan_1d(kernel, blocks, threads, shared_bytes, properties)
}

impl ReduceOptions {
    /// The most roundings that any one of `len` elements goes through on its way into the result: one product, the thread's own
    /// share, the levels of its block, and the host's fold over the blocks. The error bound of a sum follows from it.
    pub fn roundings(&self, len: usize) -> usize {
        let threads = self.threads.unwrap_or(kernels::reduce::THREADS).max(1);
        let cap = self.grid_cap.unwrap_or(DEFAULT_GRID_CAP);
        let blocks = blocks_for(len, threads, Some(cap), u32::MAX).max(1) as usize;
        // A block has at most 1024 threads: ten levels, by tree or by shuffles.
        1 + len.div_ceil(threads as usize * blocks) + 10 + blocks
    }
}

/// Plans the dot product of two operands of these lengths.
///
/// # Errors
/// When the lengths differ, a limit is broken, or the kernel needs whole warps and the threads are none.
pub fn plan_dot<T: Number>(
    a_len: usize,
    b_len: usize,
    options: &ReduceOptions,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    if a_len != b_len {
        return Err(LaunchError::ShapeMismatch {
            left_name: "a",
            left: vec![a_len],
            right_name: "b",
            right: vec![b_len],
            rule: "a dot product needs the same number of elements in both",
        });
    }
    plan::<T>("dot", a_len, options, properties)
}

/// Plans the reduction of `len` elements.
///
/// # Errors
/// For minimum and maximum of nothing, when a limit is broken, or the kernel needs whole warps and the threads are
/// none.
pub fn plan_reduce<T: Number>(
    len: usize,
    reduction: Reduction,
    options: &ReduceOptions,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    if len == 0 && reduction != Reduction::Sum {
        return Err(LaunchError::EmptyInput {
            what: "the operand of a minimum or maximum",
        });
    }
    plan::<T>(reduction.name(), len, options, properties)
}

/// The dot product of two buffers.
///
/// # Errors
/// Those of [`plan_dot`], and what goes wrong on the device.
pub fn dot_buffers<T: Number>(
    device: &Device,
    a: &DeviceBuffer<T>,
    b: &DeviceBuffer<T>,
    options: &ReduceOptions,
) -> Result<(T, Execution), LaunchError> {
    let mut partials = partials(
        device,
        &plan_dot::<T>(a.len(), b.len(), options, device.properties())?,
    )?;
    let execution = bind_dot(device, a, b, &mut partials, options)?.run()?;
    Ok((fold(&partials, Reduction::Sum)?, execution))
}

/// Sum, minimum or maximum of a buffer.
///
/// # Errors
/// Those of [`plan_reduce`], and what goes wrong on the device.
pub fn reduce_buffer<T: Number>(
    device: &Device,
    input: &DeviceBuffer<T>,
    reduction: Reduction,
    options: &ReduceOptions,
) -> Result<(T, Execution), LaunchError> {
    let mut partials = partials(
        device,
        &plan_reduce::<T>(input.len(), reduction, options, device.properties())?,
    )?;
    let execution = bind_reduce(device, input, &mut partials, reduction, options)?.run()?;
    Ok((fold(&partials, reduction)?, execution))
}

/// Memory for what the plan's launch writes: one partial result for each block.
///
/// # Errors
/// When the device has no room for them.
pub fn partials<T: Number>(
    device: &Device,
    plan: &LaunchPlan,
) -> Result<DeviceBuffer<T>, LaunchError> {
    Ok(DeviceBuffer::alloc(device, plan.grid[0] as usize)?)
}

/// Folds the partial results in the order of the blocks, after all launches so far.
///
/// # Errors
/// What goes wrong on the device.
pub fn fold<T: Number>(partials: &DeviceBuffer<T>, reduction: Reduction) -> Result<T, LaunchError> {
    let folded = partials.copy_to_vec()?.into_iter();
    let folded = folded.reduce(|sofar, next: T| sofar.fold(next, reduction));
    // There is at least one block.
    Ok(folded.unwrap_or_default())
}

/// Binds a dot product to its operands and [`partials`].
///
/// # Errors
/// Those of [`plan_dot`], and partials of another plan.
pub fn bind_dot<'a, T: Number>(
    device: &'a Device,
    a: &'a DeviceBuffer<T>,
    b: &'a DeviceBuffer<T>,
    partials: &'a mut DeviceBuffer<T>,
    options: &ReduceOptions,
) -> Result<Launch<'a>, LaunchError> {
    let plan = plan_dot::<T>(a.len(), b.len(), options, device.properties())?;
    bind(device, plan, Arguments::new().slice(a).slice(b), partials)
}

/// Binds a sum, minimum or maximum to its operand and [`partials`].
///
/// # Errors
/// Those of [`plan_reduce`], and partials of another plan.
pub fn bind_reduce<'a, T: Number>(
    device: &'a Device,
    input: &'a DeviceBuffer<T>,
    partials: &'a mut DeviceBuffer<T>,
    reduction: Reduction,
    options: &ReduceOptions,
) -> Result<Launch<'a>, LaunchError> {
    let plan = plan_reduce::<T>(input.len(), reduction, options, device.properties())?;
    bind(device, plan, Arguments::new().slice(input), partials)
}

fn bind<'a, T: Number>(
    device: &'a Device,
    plan: LaunchPlan,
    operands: Arguments<'a>,
    partials: &'a mut DeviceBuffer<T>,
) -> Result<Launch<'a>, LaunchError> {
    check_output(partials, plan.grid[0] as usize)?;
    // SAFETY: the kernels of this module take their operands as slices and write one partial result per block.
    unsafe { Launch::new(device, plan, operands.output(partials)) }
}

/// The dot product Σ a\[i\] · b\[i\]; 0 of nothing.
///
/// # Errors
/// As for [`dot_buffers`].
pub fn dot<T: Number>(
    device: &Device,
    a: ArrayView1<'_, T>,
    b: ArrayView1<'_, T>,
    options: &ReduceOptions,
) -> Result<T, LaunchError> {
    plan_dot::<T>(a.len(), b.len(), options, device.properties())?;
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
    options: &ReduceOptions,
) -> Result<T, LaunchError> {
    plan_reduce::<T>(input.len(), reduction, options, device.properties())?;
    let input = upload(device, &input)?;
    Ok(reduce_buffer(device, &input, reduction, options)?.0)
}

#[cfg(test)]
mod tests {
    use super::super::limits::h200;
    use super::*;

    fn options(kernel: ReduceKernel, threads: u32, grid_cap: u32) -> ReduceOptions {
        ReduceOptions {
            kernel,
            threads: Some(threads),
            grid_cap: Some(grid_cap),
        }
    }

    #[test]
    fn the_julia_documents_launch_comes_out() {
        let julia = options(ReduceKernel::Tree, 256, 32);
        let len = 33 * 1024;
        let plan = plan_dot::<i64>(len, len, &julia, &h200()).expect("within every limit");
        assert_eq!(plan.kernel, "dot_tree_i64");
        assert_eq!(
            (plan.grid, plan.block, plan.dynamic_shared_bytes),
            ([32, 1, 1], [256, 1, 1], 256 * 8)
        );
    }

    #[test]
    fn shuffles_take_whole_warps_and_no_dynamic_shared_memory() {
        let plan = plan_reduce::<f32>(1000, Reduction::Max, &ReduceOptions::default(), &h200())
            .expect("allowed");
        assert_eq!(plan.kernel, "max_shuffle_f32");
        assert_eq!((plan.grid, plan.dynamic_shared_bytes), ([4, 1, 1], 0));
        for threads in [1, 31, 33] {
            let shuffle = options(ReduceKernel::Shuffle, threads, 1);
            let error = plan_reduce::<f32>(9, Reduction::Sum, &shuffle, &h200())
                .expect_err("no whole warp");
            assert!(
                matches!(error, LaunchError::NotWholeWarps { warp_size: 32, .. }),
                "{error}"
            );
            let tree = options(ReduceKernel::Tree, threads, 1);
            assert!(plan_reduce::<f32>(9, Reduction::Sum, &tree, &h200()).is_ok());
            let interleaved = options(ReduceKernel::Interleaved, threads, 1);
            let plan = plan_reduce::<f32>(9, Reduction::Sum, &interleaved, &h200());
            assert_eq!(plan.expect("allowed").dynamic_shared_bytes, 4 * threads);
        }
    }

    #[test]
    fn only_sums_are_defined_for_nothing() {
        let plan = |reduction| plan_reduce::<f64>(0, reduction, &ReduceOptions::default(), &h200());
        assert_eq!(plan(Reduction::Sum).expect("zero").grid, [1, 1, 1]);
        assert!(matches!(
            plan(Reduction::Min),
            Err(LaunchError::EmptyInput { .. })
        ));
        assert!(matches!(
            plan(Reduction::Max),
            Err(LaunchError::EmptyInput { .. })
        ));
    }

    #[test]
    fn roundings_are_counted_for_refused_launches_too() {
        assert_eq!(
            options(ReduceKernel::Tree, 256, 32).roundings(33 * 1024),
            1 + 5 + 10 + 32
        );
        assert_eq!(
            options(ReduceKernel::Tree, 0, 0).roundings(5),
            1 + 5 + 10 + 1
        );
    }

    #[test]
    fn lengths_must_agree() {
        let error =
            plan_dot::<f32>(3, 4, &ReduceOptions::default(), &h200()).expect_err("3 is not 4");
        assert!(
            error
                .to_string()
                .starts_with("a is 3 elements and b is 4 elements: "),
            "{error}"
        );
    }

    #[test]
    fn limits_are_checked_before_the_launch() {
        for kernel in ReduceKernel::ALL {
            let refused = |threads, cap| {
                plan_reduce::<i64>(5, Reduction::Sum, &options(*kernel, threads, cap), &h200())
                    .expect_err("refused")
            };
            assert!(matches!(refused(0, 1), LaunchError::ZeroThreads { .. }));
            assert!(matches!(
                refused(1056, 1),
                LaunchError::TooManyThreads { .. }
            ));
            assert!(matches!(refused(32, 0), LaunchError::ZeroGrid { .. }));
        }
    }

    #[test]
    fn partial_results_fold_as_numpy_does() {
        assert_eq!(i64::MAX.fold(1, Reduction::Sum), i64::MIN);
        assert_eq!(3.fold(-4, Reduction::Min), -4);
        assert_eq!(3.fold(-4, Reduction::Max), 3);
        for reduction in [Reduction::Min, Reduction::Max] {
            assert!(f32::NAN.fold(1.0, reduction).is_nan());
            assert!(1.0.fold(f64::NAN, reduction).is_nan());
        }
    }
}
