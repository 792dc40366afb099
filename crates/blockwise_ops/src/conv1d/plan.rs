//! Which convolution kernel is launched, and how.

use blockwise::{DeviceProperties, Plain as _};
use kernels::conv1d::fft::shape::shift;
use kernels::conv1d::{blocked, policy, window};

use super::choice::{self, Task};
use super::long::Batches;
use super::routines::{ConvLaunch, FftRoutines, LongRoutines};
use super::{ConvKernel, ConvMode, ConvOptions, ConvOutputs};
use crate::launch::Ready;
use crate::limits::{blocks_for, plan_1d};
use crate::{Float, LaunchError, LaunchPlan};

/// A convolution's launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvPlan {
    /// Kernel, grid, block and shared bytes; the longest of several launches.
    pub launch: LaunchPlan,
    /// The kernel's family.
    pub kernel: ConvKernel,
    /// The length of the output.
    pub output_len: usize,
    /// The index of the first output in the full convolution.
    pub offset: usize,
    /// True if the second operand is the longer one. Convolution commutes, and the shorter one
    /// serves as the taps.
    pub swapped: bool,
}

/// Plans the convolution of `signal_len` with `taps_len` elements of type `T`.
///
/// # Errors
/// When an operand is empty, a size overflows, the kernel does not have the type or mode, or a
/// limit is exceeded.
pub fn plan<T: Float>(
    signal_len: usize,
    taps_len: usize,
    mode: ConvMode,
    options: &ConvOptions,
    properties: &DeviceProperties,
) -> Result<ConvPlan, LaunchError> {
    let outputs = mode.outputs(signal_len, taps_len)?;
    let (plan, _) = prepare::<T>(signal_len, taps_len, mode, outputs, options, properties)?;
    Ok(plan)
}

/// What a plan launches: one kernel, or those of an FFT.
pub(super) enum Chosen<T: Float> {
    Direct(ConvLaunch<T>),
    Fft(FftRoutines<T>),
    Long(LongRoutines<T>, Batches),
}

/// Plans some outputs of the convolution of two operands that are not empty: those of `mode`, or a
/// part of them. Also returns the kernel that computes them.
pub(super) fn prepare<T: Float>(
    signal_len: usize,
    taps_len: usize,
    mode: ConvMode,
    outputs: ConvOutputs,
    options: &ConvOptions,
    properties: &DeviceProperties,
) -> Result<(ConvPlan, Chosen<T>), LaunchError> {
    let short = signal_len.min(taps_len);
    let ConvOutputs {
        offset,
        len: output_len,
    } = outputs;
    let threads = options.threads.unwrap_or(kernels::conv1d::THREADS);
    let (max_blocks, cap) = (properties.max_grid[0], options.grid_cap);
    let planned = |kernel: ConvKernel, blocks, threads, shared_bytes| {
        let routine = T::convolution(kernel).ok_or_else(|| unsupported::<T>(kernel))?;
        let plan = plan_1d(
            routine.entry.name,
            blocks,
            threads,
            shared_bytes,
            properties,
        )?;
        let launch = Chosen::Direct(routine.launch);
        Ok((kernel, Ready { plan, launch }))
    };
    let striding = |kernel, shared_bytes| {
        let blocks = blocks_for(output_len, threads, cap, max_blocks);
        planned(kernel, blocks, threads, shared_bytes)
    };
    let tiled = |kernel| striding(kernel, span_bytes::<T>(threads, short)?);
    let direct = || striding(ConvKernel::Direct, 0);
    // Blocks for tiles of `outputs` outputs, by the number of tiles in the options or in the
    // policy.
    let blocks = |outputs: usize, by_policy| match options.tiles_each {
        Some(each) => output_len.div_ceil(outputs).div_ceil(each.get() as usize),
        None => by_policy,
    };
    // Blocks of the kernel's own size.
    let fixed = |kernel: ConvKernel, threads, blocks| {
        check_fixed(kernel, threads, options)?;
        let blocks = blocks_for(blocks, 1, cap, max_blocks);
        planned(kernel, blocks, threads, 0)
    };
    let window = || {
        if short > window::MAX_TAPS {
            return Err(LaunchError::TooManyTaps {
                kernel: ConvKernel::Window.name(),
                taps: short,
                limit: window::MAX_TAPS as u32,
            });
        }
        let of_block = window::WARPS * window::span::<T>();
        let blocks = blocks(of_block, policy::window_blocks::<T>(output_len, short));
        fixed(ConvKernel::Window, window::THREADS, blocks)
    };
    let blocked = || {
        let by_policy = policy::blocked_blocks::<T>(output_len);
        let blocks = blocks(blocked::span::<T>(), by_policy);
        fixed(ConvKernel::Blocked, blocked::THREADS, blocks)
    };
    let block_per_output = |kernel: ConvKernel| {
        let threads = block_per_output_threads::<T>(kernel, short, mode, options, properties)?;
        let blocks = blocks_for(output_len, 1, cap, max_blocks);
        let shared_bytes = u64::from(threads) * size_of::<T>() as u64;
        planned(kernel, blocks, threads, shared_bytes)
    };

    let fft = |kernel: ConvKernel| {
        let limit = super::most_taps::<T>(kernel).ok_or_else(|| unsupported::<T>(kernel))?;
        if short > limit {
            return Err(LaunchError::TooManyTaps {
                kernel: kernel.name(),
                taps: short,
                limit: limit as u32,
            });
        }
        if let Some(routines) = T::long(kernel) {
            check_fixed(kernel, routines.threads, options)?;
            let batches = Batches::new(&routines, short, [offset, output_len], options);
            let plan = routines.rows_plan(batches.pairs, options, properties)?;
            let launch = Chosen::Long(routines, batches);
            return Ok((kernel, Ready { plan, launch }));
        }
        let routines = T::fft(kernel).ok_or_else(|| unsupported::<T>(kernel))?;
        check_fixed(kernel, routines.threads, options)?;
        let kept = routines.points - (routines.discarded)(short, shift(offset));
        let blocks = blocks_for(output_len.div_ceil(2 * kept), 1, cap, max_blocks);
        let (name, threads) = (routines.convolve.entry.name, routines.threads);
        let plan = plan_1d(
            name,
            blocks,
            threads,
            routines.shared_bytes as u64,
            properties,
        )?;
        let launch = Chosen::Fft(routines);
        Ok((kernel, Ready { plan, launch }))
    };

    let (kernel, ready) = match options.kernel {
        Some(kernel @ (ConvKernel::Tiled | ConvKernel::TiledRaw)) => tiled(kernel)?,
        Some(ConvKernel::Direct) => direct()?,
        Some(ConvKernel::Window) => window()?,
        Some(ConvKernel::Blocked) => blocked()?,
        Some(kernel) if kernel.is_block_per_output() => block_per_output(kernel)?,
        Some(kernel) => fft(kernel)?,
        None => {
            let task = Task::new([signal_len, taps_len], mode, outputs, properties);
            let fastest = match options.threads {
                Some(_) => ConvKernel::Tiled,
                None => choice::direct::<T>(task),
            };
            match fastest {
                ConvKernel::Window => window()?,
                ConvKernel::Blocked => blocked()?,
                ConvKernel::Direct => direct()?,
                kernel @ ConvKernel::BlockPerOutput => block_per_output(kernel)?,
                _ => match tiled(ConvKernel::Tiled) {
                    Err(LaunchError::SharedMemory { .. } | LaunchError::SizeOverflow { .. }) => {
                        direct()?
                    }
                    planned => planned?,
                },
            }
        }
    };
    let plan = ConvPlan {
        launch: ready.plan,
        kernel,
        output_len,
        offset,
        swapped: taps_len > signal_len,
    };
    Ok((plan, ready.launch))
}

/// The shared memory of a tiled block: its span of the signal and the halo.
fn span_bytes<T: Float>(threads: u32, taps: usize) -> Result<u64, LaunchError> {
    let elements = (taps as u64 - 1).checked_add(threads.into());
    elements
        .and_then(|elements| elements.checked_mul(size_of::<T>() as u64))
        .ok_or(LaunchError::SizeOverflow {
            what: "the span of a block with its halo",
        })
}

/// One thread per tap, if the kernel can compute this at all.
fn block_per_output_threads<T: Float>(
    kernel: ConvKernel,
    taps: usize,
    mode: ConvMode,
    options: &ConvOptions,
    properties: &DeviceProperties,
) -> Result<u32, LaunchError> {
    if T::convolution(kernel).is_none() {
        return Err(unsupported::<T>(kernel));
    }
    if mode != ConvMode::Full {
        return Err(LaunchError::UnsupportedMode {
            kernel: kernel.name(),
            supported: ConvMode::Full,
            given: mode,
        });
    }
    let limit = choice::most_threads(properties);
    let threads = match u32::try_from(taps) {
        Ok(threads) if threads <= limit => threads,
        _ => {
            return Err(LaunchError::TooManyTaps {
                kernel: kernel.name(),
                taps,
                limit,
            });
        }
    };
    check_fixed(kernel, threads, options)?;
    Ok(threads)
}

/// Kernels with one block per output take `f64` only, and some FFT kernels `f32` only.
fn unsupported<T: Float>(kernel: ConvKernel) -> LaunchError {
    LaunchError::UnsupportedType {
        kernel: kernel.name(),
        supported: if kernel.is_fft() {
            f32::NAME
        } else {
            f64::NAME
        },
        given: T::NAME,
    }
}

/// Refuses a block size that is not the kernel's own.
fn check_fixed(kernel: ConvKernel, needed: u32, options: &ConvOptions) -> Result<(), LaunchError> {
    match options.threads {
        Some(given) if given != needed => Err(LaunchError::FixedBlock {
            kernel: kernel.name(),
            needed,
            given,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
