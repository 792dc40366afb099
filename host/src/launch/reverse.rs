//! The reversal of an array.

use kernels::reverse::direct::ITEMS;
use ndarray::{Array1, ArrayView1};

use crate::device::{Arguments, Device, DeviceBuffer, DeviceProperties, Element, LaunchPlan};
use crate::named::named_enum;

use super::limits::{blocks_for, plan_1d};
use super::{Execution, Launch, LaunchError, check_output, upload, word_name};

named_enum! {
    /// The kernels that reverse.
    pub enum ReverseKernel("reversal kernel") {
        /// A shared array whose length is fixed in the kernel.
        Static = "static",
        /// A shared array whose length the launch gives.
        Dynamic = "dynamic",
        /// No shared memory, several loads under way in each thread: the fastest.
        Direct = "direct",
    }
}

/// How to launch a reversal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReverseOptions {
    /// The kernel.
    pub kernel: ReverseKernel,
    /// Threads per block. `None` takes the kernels' own number, the only one that `static` has.
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
    let own = kernels::reverse::THREADS;
    let threads = options.threads.unwrap_or(own);
    let shared_bytes = match options.kernel {
        ReverseKernel::Static if threads != own => {
            return Err(LaunchError::FixedBlock {
                kernel: options.kernel.name(),
                needed: own,
                given: threads,
            });
        }
        ReverseKernel::Static | ReverseKernel::Direct => 0,
        ReverseKernel::Dynamic => u64::from(threads) * size_of::<T>() as u64,
    };
    let items = match options.kernel {
        ReverseKernel::Static | ReverseKernel::Dynamic => 1,
        ReverseKernel::Direct => ITEMS,
    };
    let blocks = blocks_for(
        len.div_ceil(items),
        threads,
        options.grid_cap,
        properties.max_grid[0],
    );
    let kernel = format!("reverse_{}_{}", options.kernel, word_name::<T>());
    let plan = plan_1d(kernel, blocks, threads, shared_bytes, properties)?;
    Ok((len > 0).then_some(plan))
}

/// Binds the reversal of one buffer into another. `None` when there is nothing to launch.
///
/// # Errors
/// Those of [`plan`], and an output of another length.
pub fn bind<'a, T: Element>(
    device: &'a Device,
    input: &'a DeviceBuffer<T>,
    output: &'a mut DeviceBuffer<T>,
    options: &ReverseOptions,
) -> Result<Option<Launch<'a>>, LaunchError> {
    let plan = plan::<T>(input.len(), options, device.properties())?;
    check_output(output, input.len())?;
    let Some(plan) = plan else { return Ok(None) };
    let arguments = Arguments::new().slice(input).output(output);
    // SAFETY: these are the parameters of the `reverse` kernels, which move elements of this width; both buffers have
    // the same length.
    unsafe { Launch::new(device, plan, arguments).map(Some) }
}

/// Reverses one buffer into another. `None` when there was nothing to launch.
///
/// # Errors
/// Those of [`bind`], and what goes wrong on the device.
pub fn reverse_buffers<T: Element>(
    device: &Device,
    input: &DeviceBuffer<T>,
    output: &mut DeviceBuffer<T>,
    options: &ReverseOptions,
) -> Result<Option<Execution>, LaunchError> {
    let launch = bind(device, input, output, options)?;
    launch.map(Launch::run).transpose()
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
    plan::<T>(input.len(), options, device.properties())?;
    let input = upload(device, &input)?;
    let mut output = DeviceBuffer::alloc(device, input.len())?;
    reverse_buffers(device, &input, &mut output, options)?;
    Ok(Array1::from_vec(output.copy_to_vec()?))
}

#[cfg(test)]
mod tests {
    use super::super::limits::h200;
    use super::*;

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
            (own.kernel.as_str(), own.dynamic_shared_bytes),
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
