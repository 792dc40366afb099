//! Which reduction is launched, and how.

use blockwise::DeviceProperties;
use kernels::pack;
use kernels::reduce::addend::PATH;
use kernels::reduce::policy::{self, InFlight};

use super::routines::{DotLaunch, FoldLaunch};
use super::{DEFAULT_GRID_CAP, Number, Operands, ReduceKernel, ReduceOptions, Reduction};
use crate::launch::Ready;
use crate::limits::{blocks_for, plan_1d};
use crate::oracle::{self, Precision};
use crate::{LaunchError, LaunchPlan};

/// The most elements per thread unless a grid cap asks for more: what [`PATH`] leaves after the
/// levels of a block and the last block's fold, for more blocks than any device has memory for.
const SHARE: usize = PATH - 1024;

/// Plans the dot product of two operands of these lengths, with one partial result per block.
///
/// # Errors
/// When the lengths differ, a limit is exceeded, or the kernel needs whole warps and the threads
/// are not.
pub fn plan_dot<T: Number>(
    a_len: usize,
    b_len: usize,
    options: &ReduceOptions,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    Ok(prepare_dot::<T>(a_len, b_len, options, properties)?.plan)
}

/// The same, with its launch.
pub(super) fn prepare_dot<T: Number>(
    a_len: usize,
    b_len: usize,
    options: &ReduceOptions,
    properties: &DeviceProperties,
) -> Result<Ready<DotLaunch<T>>, LaunchError> {
    same_length(a_len, b_len)?;
    let kernel = options.kernel_for::<T>(Operands::Two, a_len, properties);
    let routine = T::dot(kernel, options.in_flight(kernel, a_len, size_of::<T>()));
    let (name, two) = (routine.entry.name, Operands::Two);
    let plan = plan::<T>(name, kernel, two, a_len, options, properties)?;
    let launch = routine.launch;
    Ok(Ready { plan, launch })
}

/// Plans the reduction of `len` elements, with one partial result per block.
///
/// # Errors
/// For a minimum or maximum of no elements, when a limit is exceeded, or the kernel needs whole
/// warps and the threads are not.
pub fn plan_reduce<T: Number>(
    len: usize,
    reduction: Reduction,
    options: &ReduceOptions,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    Ok(prepare_reduce::<T>(len, reduction, options, properties)?.plan)
}

/// The same, with its launch.
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
    let (name, one) = (routine.entry.name, Operands::One);
    let plan = plan::<T>(name, kernel, one, len, options, properties)?;
    let launch = routine.launch;
    Ok(Ready { plan, launch })
}

/// Checks that a dot product's operands have the same length.
///
/// # Errors
/// When they do not.
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
    operands: Operands,
    len: usize,
    options: &ReduceOptions,
    properties: &DeviceProperties,
) -> Result<LaunchPlan, LaunchError> {
    let (threads, blocks) = options.shape(kernel, operands, len, size_of::<T>(), properties);
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
    /// The error of a sum or dot product of `len` elements before rounding, relative to the sum of
    /// its terms' magnitudes. It follows from the additions on the longest path of an element: see
    /// [`kernels::reduce::addend`].
    pub fn sum_error<T: Number + Precision>(
        &self,
        operands: Operands,
        len: usize,
        properties: &DeviceProperties,
    ) -> f64 {
        let kernel = self.kernel_for::<T>(operands, len, properties);
        let path = self.path(kernel, operands, len, size_of::<T>(), properties);
        match kernel {
            ReduceKernel::Interleaved | ReduceKernel::Tree | ReduceKernel::TreeRaw => {
                oracle::gamma(path, T::UNIT_ROUNDOFF)
            }
            _ => oracle::widened::<T>(path),
        }
    }

    /// The most operations between an element and its block's result, or the launch's if the last
    /// block folds: one product, the thread's share, the levels of its block.
    fn path(
        &self,
        kernel: ReduceKernel,
        operands: Operands,
        len: usize,
        size: usize,
        properties: &DeviceProperties,
    ) -> usize {
        let (threads, blocks) = self.shape(kernel, operands, len, size, properties);
        let (threads, blocks) = (threads.max(1) as usize, blocks.max(1) as usize);
        let share = len.div_ceil(threads * blocks);
        let lanes = pack::BYTES / size;
        // A thread may have one more part of a tile than another, and its lanes are added.
        let uneven = lanes * (self.in_flight(kernel, len, size).packs() + 1);
        // A block has at most 1024 threads: ten levels, by tree or by shuffles; or five, and then
        // its 32 warps in sequence.
        1 + share
            + match kernel {
                ReduceKernel::Interleaved | ReduceKernel::Tree | ReduceKernel::TreeRaw => 10,
                ReduceKernel::Shuffle => 5 + 31,
                ReduceKernel::Wide => uneven + 10,
                ReduceKernel::Single => uneven + 10 + blocks.div_ceil(32) + 5,
            }
    }

    /// Threads per block and blocks for `len` elements of `size` bytes, before any device limit.
    fn shape(
        &self,
        kernel: ReduceKernel,
        operands: Operands,
        len: usize,
        size: usize,
        properties: &DeviceProperties,
    ) -> (u32, u32) {
        let (threads, cap, each) = match kernel {
            ReduceKernel::Wide | ReduceKernel::Single => {
                let row = policy::row(len.saturating_mul(size));
                let policy = match operands {
                    Operands::One => row.policy,
                    Operands::Two => row.dot,
                };
                let cap = (policy.blocks_each).saturating_mul(properties.multiprocessors_to_fill());
                let packs = self.in_flight(kernel, len, size).packs();
                (policy.threads, cap, (pack::BYTES / size * packs) as u32)
            }
            _ => (kernels::reduce::THREADS, DEFAULT_GRID_CAP, 1),
        };
        let threads = self.threads.unwrap_or(threads);
        // More blocks than fit the device, rather than longer sums.
        let short = len.div_ceil(threads.max(1) as usize * SHARE);
        let short = u32::try_from(short).unwrap_or(u32::MAX);
        let cap = self.grid_cap.unwrap_or(cap.max(short));
        let blocks = blocks_for(len, threads.saturating_mul(each), Some(cap), u32::MAX);
        (threads, blocks)
    }

    /// 16-byte packs that a thread has in flight.
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
