//! Which reduction is launched, and how.

use blockwise::DeviceProperties;
use kernels::pack;
use kernels::reduce::policy::{self, InFlight};

use super::routines::{DotLaunch, FoldLaunch};
use super::{DEFAULT_GRID_CAP, Number, Operands, ReduceKernel, ReduceOptions, Reduction};
use crate::launch::Ready;
use crate::limits::{blocks_for, plan_1d};
use crate::{LaunchError, LaunchPlan};

/// Plans the dot product of two operands of these lengths; one partial result for each block.
///
/// # Errors
/// When the lengths differ, a limit is broken, or the kernel needs whole warps and the threads are
/// none.
pub fn plan_dot<T: Number>(
    a_len: usize,
    b_len: usize,
    options: &ReduceOptions,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    Ok(prepare_dot::<T>(a_len, b_len, options, properties)?.plan)
}

/// The same with its launch.
pub(super) fn prepare_dot<T: Number>(
    a_len: usize,
    b_len: usize,
    options: &ReduceOptions,
    properties: &DeviceProperties,
) -> Result<Ready<DotLaunch<T>>, LaunchError> {
    same_length(a_len, b_len)?;
    let kernel = options.kernel_for::<T>(Operands::Two, a_len, properties);
    let routine = T::dot(kernel, options.in_flight(kernel, a_len, size_of::<T>()));
    let plan = plan::<T>(routine.entry.name, kernel, a_len, options, properties)?;
    let launch = routine.launch;
    Ok(Ready { plan, launch })
}

/// Plans the reduction of `len` elements; one partial result for each block.
///
/// # Errors
/// For minimum and maximum of nothing, when a limit is broken, or the kernel needs whole warps and
/// the threads are none.
pub fn plan_reduce<T: Number>(
    len: usize,
    reduction: Reduction,
    options: &ReduceOptions,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    Ok(prepare_reduce::<T>(len, reduction, options, properties)?.plan)
}

/// The same with its launch.
pub(super) fn prepare_reduce<T: Number>(
    len: usize,
    reduction: Reduction,
    options: &ReduceOptions,
    properties: &DeviceProperties,
) -> Result<Ready<FoldLaunch<T>>, LaunchError> {
    if len == 0 && reduction != Reduction::Sum {
        return Err(LaunchError::EmptyInput {
            what: "the operand of a minimum or maximum",
        });
    }
    let kernel = options.kernel_for::<T>(Operands::One, len, properties);
    let in_flight = options.in_flight(kernel, len, size_of::<T>());
    let routine = T::reduction(kernel, in_flight, reduction);
    let plan = plan::<T>(routine.entry.name, kernel, len, options, properties)?;
    let launch = routine.launch;
    Ok(Ready { plan, launch })
}

/// Checks that a dot product's operands have one length.
///
/// # Errors
/// When they have not.
pub fn same_length(a_len: usize, b_len: usize) -> Result<(), LaunchError> {
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

fn plan<T: Number>(
    name: &'static str,
    kernel: ReduceKernel,
    len: usize,
    options: &ReduceOptions,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    let (threads, blocks) = options.shape(kernel, len, size_of::<T>(), properties);
    let blocks = blocks.min(properties.max_grid[0]);
    let shared_bytes = match kernel {
        ReduceKernel::Interleaved | ReduceKernel::Tree | ReduceKernel::TreeRaw => {
            u64::from(threads) * size_of::<T>() as u64
        }
        _ if !threads.is_multiple_of(properties.warp_size) => {
            return Err(LaunchError::NotWholeWarps {
                threads,
                warp_size: properties.warp_size,
                kernel: kernel.name(),
            });
        }
        ReduceKernel::Shuffle | ReduceKernel::Wide | ReduceKernel::Single => 0,
    };
    plan_1d(name, blocks, threads, shared_bytes, properties)
}

impl ReduceOptions {
    /// The most roundings that any one of `len` elements goes through on its way into the result:
    /// one product, the thread's own share, the levels of its block, and the host's fold over the
    /// blocks. The error bound of a sum follows from it.
    pub fn roundings(&self, len: usize, properties: &DeviceProperties) -> usize {
        // Types and operands differ in their kernels.
        let kernels = [Operands::One, Operands::Two]
            .into_iter()
            .flat_map(|operands| {
                [
                    self.kernel_for::<f32>(operands, len, properties),
                    self.kernel_for::<f64>(operands, len, properties),
                    self.kernel_for::<i64>(operands, len, properties),
                ]
            });
        let roundings = kernels.map(|kernel| self.roundings_by(kernel, len, properties));
        roundings.max().unwrap_or_default()
    }

    fn roundings_by(
        &self,
        kernel: ReduceKernel,
        len: usize,
        properties: &DeviceProperties,
    ) -> usize {
        // Elements of four bytes make the fewest blocks, those of eight the most.
        let [(threads, few), (_, many)] =
            [4, 8].map(|size| self.shape(kernel, len, size, properties));
        let share = len.div_ceil(threads.max(1) as usize * few.max(1) as usize);
        // A thread may have a whole part of a tile more than another; elements of four bytes are
        // the most.
        let uneven = match kernel {
            ReduceKernel::Wide | ReduceKernel::Single => 4 * self.in_flight(kernel, len, 4).packs(),
            _ => 0,
        };
        // A block has at most 1024 threads: ten levels, by tree or by shuffles; or five, and then
        // its 32 warps one after the other.
        let levels = match kernel {
            ReduceKernel::Shuffle => 5 + 31,
            _ => 10,
        };
        1 + share + uneven + levels + many.max(1) as usize
    }

    /// Threads of a block and blocks for `len` elements of `size` bytes, before any limit of the
    /// device.
    fn shape(
        &self,
        kernel: ReduceKernel,
        len: usize,
        size: usize,
        properties: &DeviceProperties,
    ) -> (u32, u32) {
        let (threads, cap, each) = match kernel {
            ReduceKernel::Wide | ReduceKernel::Single => {
                let policy = policy::row(len.saturating_mul(size)).policy;
                let cap = (policy.blocks_each).saturating_mul(properties.multiprocessors_to_fill());
                let packs = self.in_flight(kernel, len, size).packs();
                (policy.threads, cap, (pack::BYTES / size * packs) as u32)
            }
            _ => (kernels::reduce::THREADS, DEFAULT_GRID_CAP, 1),
        };
        let threads = self.threads.unwrap_or(threads);
        let cap = self.grid_cap.unwrap_or(cap);
        let blocks = blocks_for(len, threads.saturating_mul(each), Some(cap), u32::MAX);
        (threads, blocks)
    }

    /// Packs of 16 bytes that a thread has in flight.
    fn in_flight(&self, kernel: ReduceKernel, len: usize, size: usize) -> InFlight {
        match kernel {
            ReduceKernel::Single => {
                let policy = policy::row(len.saturating_mul(size)).policy;
                self.in_flight.unwrap_or(policy.in_flight)
            }
            _ => InFlight::Four,
        }
    }
}

#[cfg(test)]
mod tests;
