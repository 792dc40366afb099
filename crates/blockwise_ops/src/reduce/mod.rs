//! Dot product, sum, minimum and maximum.
//!
//! Each block folds its share into one partial result, and the host folds those in block order;
//! with [`ReduceKernel::Single`] the last block does. If the options name no kernel, the operand's
//! size chooses one. With the same threads and blocks, the order of all operations, and so every
//! bit of the result, is the same on every device. The defaults of [`ReduceKernel::Wide`] and
//! [`ReduceKernel::Single`] depend on the number of multiprocessors.
//!
//! # How exact sums are
//!
//! Sums and dot products of `f32` are added in `f64`, those of `f64` in two terms, whole and along
//! an axis, for any length, and rounded once. With S the exact result and M the sum of the
//! magnitudes of its terms, the error is at most half a unit in the last place plus 2⁻⁴¹·M for
//! `f32`, 2⁻⁸⁰·M for `f64`. If M ≤ 2¹⁶·|S|, that is less than one unit; at least 999 arrays in 1000
//! are rounded correctly, and have the same bits for every kernel of [`choice`], device, chunk and
//! number of ranks. [`kernels::reduce::addend`] derives this. A `grid_cap` makes a thread's share
//! longer, and the bound larger: [`ReduceOptions::sum_error`].
//!
//! [`ReduceKernel::Interleaved`], [`ReduceKernel::Tree`] and [`ReduceKernel::TreeRaw`] are for
//! teaching: they add in the element's type, as in the documents that they follow.

mod axis;
pub mod choice;
mod partials;
mod plan;
mod routines;
mod total;

use blockwise::{Device, Stream, View};
use kernels::reduce::policy::InFlight;
use kernels::reduce::{Addend, TotalOf, Twofold};
use ndarray::ArrayView1;

use self::routines::{Dot, Fold};
use crate::launch::{On, Ready};
use crate::{Element, Execution, LaunchError, LaunchPlan, named_enum, upload};

pub(crate) use axis::ReducesAxis;
pub use axis::{Axis, plan_axis, plan_runs, reduce_axis, sum_error_along_axis};
pub(crate) use axis::{enqueue_axis, enqueue_runs};
pub use choice::Operands;
pub use partials::Partials;
pub(crate) use partials::{Memory, ticket};
pub use plan::{plan_dot, plan_reduce, same_length};
pub(crate) use routines::Reduces;
pub use total::Total;

named_enum! {
    /// The reductions of one operand.
    pub enum Reduction("reduction") {
        /// The sum; 0 for no elements. Integers wrap around, as in NumPy.
        Sum = "sum",
        /// The smallest element; NaN if there is one, with its sign and payload.
        Min = "min",
        /// The largest element; NaN if there is one, with its sign and payload.
        Max = "max",
    }
}

named_enum! {
    /// The kernels that reduce.
    pub enum ReduceKernel("reduction kernel") {
        /// A tree in shared memory that folds neighbours first, with bank conflicts; for any number
        /// of threads. Like the next two kernels it adds in the element's type.
        Interleaved = "interleaved",
        /// A halving tree in shared memory, for any number of threads.
        Tree = "tree",
        /// The same in rust-cuda's form.
        TreeRaw = "tree-raw",
        /// Warps fold by shuffles, for whole warps.
        Shuffle = "shuffle",
        /// The same with loads of 16 bytes, several at a time.
        Wide = "wide",
        /// The same, with the blocks' results folded by the last block instead of the host.
        Single = "single",
    }
}

/// The types that can be reduced.
pub trait Number: Element + Reduces + ReducesAxis + Addend {
    /// A total as words, for another process.
    #[doc(hidden)]
    fn words_of(total: TotalOf<Self>) -> [u64; 2];
    /// A total from its words.
    #[doc(hidden)]
    fn of_words(words: [u64; 2]) -> TotalOf<Self>;
}

impl Number for i64 {
    fn words_of(total: i64) -> [u64; 2] {
        [total.cast_unsigned(), 0]
    }

    fn of_words([word, _]: [u64; 2]) -> i64 {
        word.cast_signed()
    }
}

macro_rules! number_of_floats {
    ($($float:ty),*) => { $(
        impl Number for $float {
            fn words_of(total: Twofold) -> [u64; 2] {
                [total.sum, total.rest].map(f64::to_bits)
            }

            fn of_words(words: [u64; 2]) -> Twofold {
                let [sum, rest] = words.map(f64::from_bits);
                Twofold { sum, rest }
            }
        }
    )* };
}
number_of_floats!(f32, f64);

/// A block's result: a sum in more precision than its elements.
pub type PartialOf<T> = <T as Addend>::Partial;

/// Default number of blocks of the first three kernels.
pub const DEFAULT_GRID_CAP: u32 = 1024;

/// How to launch a reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReduceOptions {
    /// The kernel. `None` takes the fastest for the operand's size, or [`ReduceKernel::Single`] if
    /// other options are given.
    pub kernel: Option<ReduceKernel>,
    /// Threads per block. `None` is the kernel's default, or the
    /// [policy](kernels::reduce::policy)'s.
    pub threads: Option<u32>,
    /// Maximum number of blocks. `None` is [`DEFAULT_GRID_CAP`], or the
    /// [policy](kernels::reduce::policy)'s.
    pub grid_cap: Option<u32>,
    /// 16-byte packs that a thread of [`ReduceKernel::Single`] has in flight. `None` is the
    /// [policy](kernels::reduce::policy)'s.
    pub in_flight: Option<InFlight>,
}

/// Starts a dot product of two operands of the same length.
///
/// # Errors
/// Those of [`plan_dot`], partials for fewer blocks, and failures of the device.
pub fn enqueue_dot<'a, T: Number>(
    device: &Device,
    stream: Option<&Stream>,
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    partials: &mut Partials<T>,
    options: &ReduceOptions,
) -> Result<LaunchPlan, LaunchError> {
    let (a, b) = (a.into(), b.into());
    let plan = enqueue_dot_to(device, stream, a, b, partials.memory(), options)?;
    let kernel = options.kernel_for::<T>(Operands::Two, a.len(), device.properties());
    partials.written(kernel, &plan);
    Ok(plan)
}

/// The same, into any memory.
pub(crate) fn enqueue_dot_to<T: Number>(
    device: &Device,
    stream: Option<&Stream>,
    a: View<'_, T>,
    b: View<'_, T>,
    memory: Memory<'_, T>,
    options: &ReduceOptions,
) -> Result<LaunchPlan, LaunchError> {
    let properties = device.properties();
    let Ready { plan, launch } = plan::prepare_dot::<T>(a.len(), b.len(), options, properties)?;
    memory.check(&plan)?;
    launch(On::new(device, stream, &plan), Dot { a, b, memory })?;
    Ok(plan)
}

/// Starts a sum, minimum or maximum.
///
/// # Errors
/// Those of [`plan_reduce`], partials for fewer blocks, and failures of the device.
pub fn enqueue_reduce<'a, T: Number>(
    device: &Device,
    stream: Option<&Stream>,
    input: impl Into<View<'a, T>>,
    partials: &mut Partials<T>,
    reduction: Reduction,
    options: &ReduceOptions,
) -> Result<LaunchPlan, LaunchError> {
    let (input, memory) = (input.into(), partials.memory());
    let plan = enqueue_reduce_to(device, stream, input, memory, reduction, options)?;
    let kernel = options.kernel_for::<T>(Operands::One, input.len(), device.properties());
    partials.written(kernel, &plan);
    Ok(plan)
}

/// The same, into any memory.
pub(crate) fn enqueue_reduce_to<T: Number>(
    device: &Device,
    stream: Option<&Stream>,
    input: View<'_, T>,
    memory: Memory<'_, T>,
    reduction: Reduction,
    options: &ReduceOptions,
) -> Result<LaunchPlan, LaunchError> {
    let properties = device.properties();
    let Ready { plan, launch } =
        plan::prepare_reduce::<T>(input.len(), reduction, options, properties)?;
    memory.check(&plan)?;
    launch(On::new(device, stream, &plan), Fold { input, memory })?;
    Ok(plan)
}

/// The dot product of two operands on the device.
///
/// # Errors
/// Those of [`plan_dot`], and failures of the device.
pub fn dot_buffers<'a, T: Number>(
    device: &Device,
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    options: &ReduceOptions,
) -> Result<(T, Execution), LaunchError> {
    let (a, b) = (a.into(), b.into());
    let plan = plan_dot::<T>(a.len(), b.len(), options, device.properties())?;
    let mut partials = Partials::alloc(device, &plan)?;
    let execution = Execution::of(device, || {
        enqueue_dot(device, None, a, b, &mut partials, options)
    })?;
    Ok((partials.fold(Reduction::Sum)?, execution))
}

/// Sum, minimum or maximum of an operand on the device.
///
/// # Errors
/// Those of [`plan_reduce`], and failures of the device.
pub fn reduce_buffer<'a, T: Number>(
    device: &Device,
    input: impl Into<View<'a, T>>,
    reduction: Reduction,
    options: &ReduceOptions,
) -> Result<(T, Execution), LaunchError> {
    let input = input.into();
    let plan = plan_reduce::<T>(input.len(), reduction, options, device.properties())?;
    let mut partials = Partials::alloc(device, &plan)?;
    let execution = Execution::of(device, || {
        enqueue_reduce(device, None, input, &mut partials, reduction, options)
    })?;
    Ok((partials.fold(reduction)?, execution))
}

/// The dot product Σ a\[i\] · b\[i\]; 0 for no elements.
///
/// # Errors
/// As for [`dot_buffers`].
pub fn dot<T: Number>(
    device: &Device,
    a: ArrayView1<'_, T>,
    b: ArrayView1<'_, T>,
    options: &ReduceOptions,
) -> Result<T, LaunchError> {
    // Checked before anything is copied.
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
    // Checked before anything is copied.
    plan_reduce::<T>(input.len(), reduction, options, device.properties())?;
    let input = upload(device, &input)?;
    Ok(reduce_buffer(device, &input, reduction, options)?.0)
}
