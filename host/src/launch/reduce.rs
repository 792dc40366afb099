//! Dot product, sum, minimum and maximum.
//!
//! Each block folds its share into one partial result, and the host folds the partials in the order of the blocks; or the last
//! block does, with [`ReduceKernel::Single`].
//! With the same threads and blocks the order of all operations is the same on every device, and so is every bit of the result. The
//! default ones of [`ReduceKernel::Wide`] and [`ReduceKernel::Single`] go by the number of multiprocessors.

use ndarray::ArrayView1;

use crate::device::{Arguments, Device, DeviceBuffer, DeviceProperties, Element, LaunchPlan};
use crate::named::named_enum;
use kernels::pack;
use kernels::reduce::policy::{self, InFlight};

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
        /// The same with loads of 16 bytes, several at a time.
        Wide = "wide",
        /// The same with the last block folding the blocks' results, instead of the host.
        Single = "single",
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

/// Blocks of the first three kernels, unless asked for otherwise.
pub const DEFAULT_GRID_CAP: u32 = 1024;

/// How to launch a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReduceOptions {
    /// The kernel.
    pub kernel: ReduceKernel,
    /// Threads per block. `None` takes the kernels' own number, or the [`policy`]'s.
    pub threads: Option<u32>,
    /// Blocks, at most. `None` takes [`DEFAULT_GRID_CAP`], or the [`policy`]'s.
    pub grid_cap: Option<u32>,
    /// Packs of 16 bytes that a thread of [`ReduceKernel::Single`] has under way. `None` takes the [`policy`]'s.
    pub in_flight: Option<InFlight>,
}

impl Default for ReduceOptions {
    fn default() -> Self {
        Self {
            kernel: ReduceKernel::Single,
            threads: None,
            grid_cap: None,
            in_flight: None,
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
    let (threads, blocks) = options.shape(len, size_of::<T>(), properties);
    let blocks = blocks.min(properties.max_grid[0]);
    let shared_bytes = match options.kernel {
        ReduceKernel::Interleaved | ReduceKernel::Tree => {
            u64::from(threads) * size_of::<T>() as u64
        }
        _ if !threads.is_multiple_of(properties.warp_size) => {
            return Err(LaunchError::NotWholeWarps {
                threads,
                warp_size: properties.warp_size,
                kernel: options.kernel.name(),
            });
        }
        ReduceKernel::Shuffle | ReduceKernel::Wide | ReduceKernel::Single => 0,
    };
    let instance = options.in_flight(len, size_of::<T>()).suffix();
    let kernel = format!("{operation}_{}{instance}_{}", options.kernel, T::NAME);
    plan_1d(kernel, blocks, threads, shared_bytes, properties)
}

impl ReduceOptions {
    /// The most roundings that any one of `len` elements goes through on its way into the result: one product, the thread's own
    /// share, the levels of its block, and the host's fold over the blocks. The error bound of a sum follows from it.
    pub fn roundings(&self, len: usize, properties: &DeviceProperties) -> usize {
        // Elements of four bytes make the fewest blocks, those of eight the most.
        let [(threads, few), (_, many)] = [4, 8].map(|size| self.shape(len, size, properties));
        let share = len.div_ceil(threads.max(1) as usize * few.max(1) as usize);
        // A thread may have a whole part of a tile more than another; elements of four bytes are the most.
        let uneven = match self.kernel {
            ReduceKernel::Wide | ReduceKernel::Single => 4 * self.in_flight(len, 4).packs(),
            _ => 0,
        };
        // A block has at most 1024 threads: ten levels, by tree or by shuffles.
        1 + share + uneven + 10 + many.max(1) as usize
    }

    /// Threads of a block and blocks for `len` elements of `size` bytes, before any limit of the device.
    pub(crate) fn shape(
        &self,
        len: usize,
        size: usize,
        properties: &DeviceProperties,
    ) -> (u32, u32) {
        let (threads, cap, each) = match self.kernel {
            ReduceKernel::Wide | ReduceKernel::Single => {
                let policy = policy::row(len.saturating_mul(size)).policy;
                let cap = (policy.blocks_each).saturating_mul(properties.multiprocessors_to_fill());
                let packs = self.in_flight(len, size).packs();
                (policy.threads, cap, (pack::BYTES / size * packs) as u32)
            }
            _ => (kernels::reduce::THREADS, DEFAULT_GRID_CAP, 1),
        };
        let threads = self.threads.unwrap_or(threads);
        let cap = self.grid_cap.unwrap_or(cap);
        let blocks = blocks_for(len, threads.saturating_mul(each), Some(cap), u32::MAX);
        (threads, blocks)
    }

    /// Packs of 16 bytes that a thread has under way.
    pub(crate) fn in_flight(&self, len: usize, size: usize) -> InFlight {
        match self.kernel {
            ReduceKernel::Single => {
                let policy = policy::row(len.saturating_mul(size)).policy;
                self.in_flight.unwrap_or(policy.in_flight)
            }
            _ => InFlight::Four,
        }
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
    same_length(a_len, b_len)?;
    plan::<T>("dot", a_len, options, properties)
}

/// Checks that a dot product's operands have one length.
pub(crate) fn same_length(a_len: usize, b_len: usize) -> Result<(), LaunchError> {
    if a_len != b_len {
        return Err(LaunchError::ShapeMismatch {
            left_name: "a",
            left: vec![a_len],
            right_name: "b",
            right: vec![b_len],
            rule: "a dot product needs the same number of elements in both",
        });
    }
    Ok(())
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
    let plan = plan_dot::<T>(a.len(), b.len(), options, device.properties())?;
    let mut partials = Partials::alloc(device, &plan, options.kernel)?;
    let execution = bind_dot(device, a, b, &mut partials, options)?.run()?;
    Ok((partials.fold(Reduction::Sum)?, execution))
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
    let plan = plan_reduce::<T>(input.len(), reduction, options, device.properties())?;
    let mut partials = Partials::alloc(device, &plan, options.kernel)?;
    let execution = bind_reduce(device, input, &mut partials, reduction, options)?.run()?;
    Ok((partials.fold(reduction)?, execution))
}

/// Memory for what a launch writes: a partial result for each block. With [`ReduceKernel::Single`] the first one becomes the result.
pub struct Partials<T: Number> {
    values: DeviceBuffer<T>,
    kernel: ReduceKernel,
}

impl<T: Number> Partials<T> {
    /// Memory for the launch of a plan.
    ///
    /// # Errors
    /// When the device has no room for it.
    pub fn alloc(
        device: &Device,
        plan: &LaunchPlan,
        kernel: ReduceKernel,
    ) -> Result<Self, LaunchError> {
        let mut values = DeviceBuffer::alloc(device, elements(plan, kernel))?;
        // With `Single` no block has taken a ticket then.
        values.poison()?;
        Ok(Self { values, kernel })
    }

    /// Fills the memory with bytes of 0xFF, so that a result of an earlier launch cannot pass for a later one's.
    ///
    /// # Errors
    /// When the device fails.
    pub fn poison(&mut self) -> Result<(), LaunchError> {
        Ok(self.values.poison()?)
    }

    /// The result, after all launches so far. The partial results are folded in the order of the blocks.
    ///
    /// # Errors
    /// What goes wrong on the device.
    pub fn fold(&self, reduction: Reduction) -> Result<T, LaunchError> {
        Ok(fold(self.kernel, &self.values.copy_to_vec()?, reduction))
    }
}

/// Elements that a plan's launch of a kernel needs for its partial results.
pub fn elements(plan: &LaunchPlan, kernel: ReduceKernel) -> usize {
    let blocks = plan.grid[0] as usize;
    match kernel {
        ReduceKernel::Single => blocks + 1,
        _ => blocks,
    }
}

/// The result, from the elements that a launch of a kernel has written.
pub fn fold<T: Number>(kernel: ReduceKernel, partials: &[T], reduction: Reduction) -> T {
    let results = match kernel {
        ReduceKernel::Single => &partials[..partials.len().min(1)],
        _ => partials,
    };
    let folded = results.iter().copied();
    let folded = folded.reduce(|sofar, next| sofar.fold(next, reduction));
    // There is at least one block.
    folded.unwrap_or_default()
}

/// Binds a dot product to its operands and [`Partials`].
///
/// # Errors
/// Those of [`plan_dot`], and partials of another plan.
pub fn bind_dot<'a, T: Number>(
    device: &'a Device,
    a: &'a DeviceBuffer<T>,
    b: &'a DeviceBuffer<T>,
    partials: &'a mut Partials<T>,
    options: &ReduceOptions,
) -> Result<Launch<'a>, LaunchError> {
    bind_dot_to(device, a, b, &mut partials.values, options)
}

/// As [`bind_dot`], with memory for [`elements`].
pub(crate) fn bind_dot_to<'a, T: Number>(
    device: &'a Device,
    a: &'a DeviceBuffer<T>,
    b: &'a DeviceBuffer<T>,
    partials: &'a mut DeviceBuffer<T>,
    options: &ReduceOptions,
) -> Result<Launch<'a>, LaunchError> {
    let plan = plan_dot::<T>(a.len(), b.len(), options, device.properties())?;
    let operands = Arguments::new().slice(a).slice(b);
    bind(device, plan, operands, partials, options.kernel)
}

/// Binds a sum, minimum or maximum to its operand and [`Partials`].
///
/// # Errors
/// Those of [`plan_reduce`], and partials of another plan.
pub fn bind_reduce<'a, T: Number>(
    device: &'a Device,
    input: &'a DeviceBuffer<T>,
    partials: &'a mut Partials<T>,
    reduction: Reduction,
    options: &ReduceOptions,
) -> Result<Launch<'a>, LaunchError> {
    bind_reduce_to(device, input, &mut partials.values, reduction, options)
}

/// As [`bind_reduce`], with memory for [`elements`].
pub(crate) fn bind_reduce_to<'a, T: Number>(
    device: &'a Device,
    input: &'a DeviceBuffer<T>,
    partials: &'a mut DeviceBuffer<T>,
    reduction: Reduction,
    options: &ReduceOptions,
) -> Result<Launch<'a>, LaunchError> {
    let plan = plan_reduce::<T>(input.len(), reduction, options, device.properties())?;
    let operands = Arguments::new().slice(input);
    bind(device, plan, operands, partials, options.kernel)
}

fn bind<'a, T: Number>(
    device: &'a Device,
    plan: LaunchPlan,
    operands: Arguments<'a>,
    partials: &'a mut DeviceBuffer<T>,
    kernel: ReduceKernel,
) -> Result<Launch<'a>, LaunchError> {
    check_output(partials, elements(&plan, kernel))?;
    // SAFETY: the kernels of this module take their operands as slices and write one partial result per block,
    // and `single` an element more, which was poisoned.
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
            in_flight: None,
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
        let plan = plan_reduce::<f32>(
            1000,
            Reduction::Max,
            &options(ReduceKernel::Shuffle, 256, 1024),
            &h200(),
        )
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
    fn large_operands_get_as_many_threads_as_the_device_holds() {
        let planned = |len| {
            let options = ReduceOptions::default();
            plan_reduce::<f32>(len, Reduction::Sum, &options, &h200()).expect("allowed")
        };
        let large = planned(1 << 29);
        assert_eq!(large.kernel, "sum_single_f32");
        assert_eq!((large.grid, large.block), ([264, 1, 1], [1024, 1, 1]));
        // 2^20 elements in tiles of 512 threads with four packs of four.
        let small = planned(1 << 20);
        assert_eq!((small.grid, small.block), ([128, 1, 1], [512, 1, 1]));
        assert_eq!(planned(5).grid, [1, 1, 1]);
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
            options(ReduceKernel::Tree, 256, 32).roundings(33 * 1024, &h200()),
            1 + 5 + 10 + 32
        );
        assert_eq!(
            options(ReduceKernel::Tree, 0, 0).roundings(5, &h200()),
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
