//! An array in reverse order.

use blockwise::{Device, DeviceProperties, Stream, View, ViewMut};
use kernels::raw;
use kernels::reverse::{direct, dynamic, fixed};
use ndarray::{Array1, ArrayView1};

use crate::launch::{On, Ready, Routine, routine};
use crate::limits::{blocks_for, plan_1d};
use crate::named_enum;
use crate::{Element, Execution, LaunchError, LaunchPlan, check_len, upload};

named_enum! {
    /// The kernels that reverse.
    pub enum ReverseKernel("reversal kernel") {
        /// A shared array whose length is fixed in the kernel.
        Static = "static",
        /// The same in rust-cuda's form.
        StaticRaw = "static-raw",
        /// A shared array whose length the launch gives.
        Dynamic = "dynamic",
        /// The same in rust-cuda's form.
        DynamicRaw = "dynamic-raw",
        /// No shared memory, several loads in flight in each thread: the fastest.
        Direct = "direct",
    }
}

macro_rules! handle {
    (unsafe $handle:ty) => {
        routine!(unsafe $handle, |of| (of.input, of.output))
    };
    ($handle:ty) => {
        routine!($handle, |of| (of.input, of.output))
    };
}

macro_rules! words {
    ($($t:ident)*) => {$(
        impl Reverses for $t {
            fn reverses(kernel: ReverseKernel) -> Routine<ReverseLaunch<Self>> {
                match kernel {
                    ReverseKernel::Static => handle!(fixed::reverse_static<$t>),
                    ReverseKernel::StaticRaw => {
                        handle!(unsafe raw::reverse::reverse_static_raw<$t>)
                    }
                    ReverseKernel::Dynamic => handle!(dynamic::reverse_dynamic<$t>),
                    ReverseKernel::DynamicRaw => {
                        handle!(unsafe raw::reverse::reverse_dynamic_raw<$t>)
                    }
                    ReverseKernel::Direct => handle!(direct::reverse_direct<$t>),
                }
            }
        }
    )*};
}
words!(u32 u64);

/// A word that the kernels reverse.
#[doc(hidden)]
pub trait Reverses: Element {
    /// The kernel's handle.
    fn reverses(kernel: ReverseKernel) -> Routine<ReverseLaunch<Self>>;
}

/// Words and the same in reverse order.
#[doc(hidden)]
pub struct Reversed<'a, W: Element> {
    input: View<'a, W>,
    output: ViewMut<'a, W>,
}

type ReverseLaunch<W> = for<'a> fn(On<'a>, Reversed<'a, W>) -> Result<(), blockwise::Error>;

/// How to launch a reversal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReverseOptions {
    /// The kernel.
    pub kernel: ReverseKernel,
    /// Threads per block. `None` takes the kernels' own number, the only one that `static` and
    /// `static-raw` have.
    pub threads: Option<u32>,
    /// Blocks, at most.
    pub grid_cap: Option<u32>,
}

impl Default for ReverseOptions {
    fn default() -> Self {
        Self {
            kernel: ReverseKernel::Direct,
            threads: None,
            grid_cap: None,
        }
    }
}

/// Plans the reversal of `len` elements. `None` when there are none, and so nothing to launch.
///
/// # Errors
/// When `static` is asked for other threads than its own, or a limit is broken.
pub fn plan<T: Element>(
    len: usize,
    options: &ReverseOptions,
    properties: &DeviceProperties,
) -> Result<Option<LaunchPlan>, LaunchError> {
    let ready = prepare::<T>(len, options, properties)?;
    Ok((len > 0).then_some(ready.plan))
}

/// The plan, also of nothing.
fn prepare<T: Element>(
    len: usize,
    options: &ReverseOptions,
    properties: &DeviceProperties,
) -> Result<Ready<ReverseLaunch<T::Word>>, LaunchError> {
    let own = kernels::reverse::THREADS;
    let threads = options.threads.unwrap_or(own);
    let shared_bytes = match options.kernel {
        ReverseKernel::Static | ReverseKernel::StaticRaw if threads != own => {
            return Err(LaunchError::FixedBlock {
                kernel: options.kernel.name(),
                needed: own,
                given: threads,
            });
        }
        ReverseKernel::Static | ReverseKernel::StaticRaw | ReverseKernel::Direct => 0,
        ReverseKernel::Dynamic | ReverseKernel::DynamicRaw => {
            u64::from(threads) * size_of::<T>() as u64
        }
    };
    let items = match options.kernel {
        ReverseKernel::Direct => direct::ITEMS,
        _ => 1,
    };
    let blocks = blocks_for(
        len.div_ceil(items),
        threads,
        options.grid_cap,
        properties.max_grid[0],
    );
    let routine = T::Word::reverses(options.kernel);
    let name = routine.entry.name;
    let plan = plan_1d(name, blocks, threads, shared_bytes, properties)?;
    let launch = routine.launch;
    Ok(Ready { plan, launch })
}

/// Starts the reversal of `input` into `output`, of the same length. `None` when there was nothing
/// to launch.
///
/// # Errors
/// Those of [`plan`], an output of another length, and what goes wrong on the device.
pub fn enqueue<'a, T: Element>(
    device: &Device,
    stream: Option<&Stream>,
    input: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, T>>,
    options: &ReverseOptions,
) -> Result<Option<LaunchPlan>, LaunchError> {
    let (input, output) = (input.into(), output.into());
    let Ready { plan, launch } = prepare::<T>(input.len(), options, device.properties())?;
    check_len("output", output.len(), input.len())?;
    if input.is_empty() {
        return Ok(None);
    }
    let words = Reversed {
        input: input.cast()?,
        output: output.cast()?,
    };
    launch(On::new(device, stream, &plan), words)?;
    Ok(Some(plan))
}

/// Reverses `input` into `output`, of the same length, and waits. `None` when there was nothing to
/// launch.
///
/// # Errors
/// Those of [`enqueue`].
pub fn reverse_buffers<'a, T: Element>(
    device: &Device,
    input: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, T>>,
    options: &ReverseOptions,
) -> Result<Option<Execution>, LaunchError> {
    Execution::of(device, || enqueue(device, None, input, output, options))
}

/// The elements in reverse order.
///
/// # Errors
/// As for [`reverse_buffers`].
pub fn reverse<T: Element>(
    device: &Device,
    input: ArrayView1<'_, T>,
    options: &ReverseOptions,
) -> Result<Array1<T>, LaunchError> {
    // Checked before anything is copied.
    plan::<T>(input.len(), options, device.properties())?;
    let input = upload(device, &input)?;
    let mut output = device.zeros(input.len())?;
    enqueue(device, None, &input, &mut output, options)?;
    Ok(Array1::from_vec(output.to_vec()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::h200;

    fn options(kernel: ReverseKernel, threads: u32) -> ReverseOptions {
        ReverseOptions {
            kernel,
            threads: Some(threads),
            grid_cap: None,
        }
    }

    #[test]
    fn the_dynamic_kernel_gets_one_slot_per_thread() {
        let plan = plan::<f64>(1000, &options(ReverseKernel::Dynamic, 100), &h200());
        let plan = plan.expect("allowed").expect("a launch");
        assert_eq!(plan.kernel, "reverse_dynamic_u64");
        assert_eq!(
            (plan.grid, plan.block, plan.dynamic_shared_bytes),
            ([10, 1, 1], [100, 1, 1], 800)
        );
    }

    #[test]
    fn a_thread_of_the_direct_kernel_has_several_elements() {
        for (len, blocks) in [(400, 1), (401, 2)] {
            let plan = plan::<f32>(len, &options(ReverseKernel::Direct, 100), &h200());
            let plan = plan.expect("allowed").expect("a launch");
            assert_eq!(plan.kernel, "reverse_direct_u32");
            assert_eq!((plan.grid, plan.dynamic_shared_bytes), ([blocks, 1, 1], 0));
        }
    }

    #[test]
    fn the_static_kernel_has_its_own_threads_only() {
        let own = plan::<f32>(1000, &options(ReverseKernel::Static, 256), &h200())
            .expect("allowed")
            .expect("a launch");
        assert_eq!(
            (own.kernel, own.dynamic_shared_bytes),
            ("reverse_static_u32", 0)
        );
        let error = plan::<f32>(1000, &options(ReverseKernel::Static, 128), &h200())
            .expect_err("another block");
        assert!(matches!(
            error,
            LaunchError::FixedBlock {
                needed: 256,
                given: 128,
                ..
            }
        ));
    }

    #[test]
    fn nothing_is_no_launch_but_limits_still_hold() {
        assert_eq!(
            plan::<f32>(0, &ReverseOptions::default(), &h200()).expect("allowed"),
            None
        );
        let refused = |threads| plan::<f32>(0, &options(ReverseKernel::Dynamic, threads), &h200());
        assert!(matches!(refused(0), Err(LaunchError::ZeroThreads { .. })));
        assert!(matches!(
            refused(1025),
            Err(LaunchError::TooManyThreads { .. })
        ));
    }
}
