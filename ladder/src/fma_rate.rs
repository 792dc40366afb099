//! Launches of [`peak_fma_f32`], which measure the device's peak rate.

use blockwise::{Device, DeviceProperties, Instance as _, Stream, ViewMut};
use blockwise_ops::{LaunchError, LaunchPlan, limits};

use crate::peak::{ADDEND, CHAINS, FACTOR, THREADS, UNROLL, peak_fma_f32};

/// Plans `blocks` blocks.
///
/// # Errors
/// When a limit is exceeded.
pub fn plan(blocks: u32, properties: &DeviceProperties) -> Result<LaunchPlan, LaunchError> {
    let plan = LaunchPlan {
        kernel: peak_fma_f32::ENTRY.name,
        grid: [blocks, 1, 1],
        block: [THREADS, 1, 1],
        dynamic_shared_bytes: 0,
    };
    limits::check(&plan, properties)?;
    Ok(plan)
}

/// Starts `blocks` blocks. `output` has one element for each thread.
///
/// # Errors
/// Those of [`plan`], an output of the wrong length, and failures of the device.
pub fn enqueue<'a>(
    device: &Device,
    stream: Option<&Stream>,
    output: impl Into<ViewMut<'a, f32>>,
    blocks: u32,
    rounds: u32,
) -> Result<LaunchPlan, LaunchError> {
    let output = output.into();
    let plan = plan(blocks, device.properties())?;
    let (given, needed) = (output.len(), threads(blocks));
    if given != needed {
        return Err(LaunchError::BufferLength {
            what: "output",
            needed,
            given,
        });
    }
    let launch = peak_fma_f32::on(device)?.shape(plan.shape());
    let launch = match stream {
        Some(stream) => launch.stream(stream),
        None => launch,
    };
    launch.launch(output, rounds as usize)?;
    Ok(plan)
}

/// The number of threads in `blocks` blocks.
pub fn threads(blocks: u32) -> usize {
    blocks as usize * THREADS as usize
}

/// The operations of a launch: two for each fused multiply-add.
pub fn operations(blocks: u32, rounds: u32) -> u64 {
    2 * threads(blocks) as u64 * u64::from(rounds) * (CHAINS * UNROLL) as u64
}

/// The value that the launch writes for a thread, exact to the bit.
pub fn expected(thread: usize, rounds: u32) -> f32 {
    (0..CHAINS)
        .map(|c| {
            let start = (thread % 256 + c) as f32;
            (0..rounds as usize * UNROLL).fold(start, |x, _| x.mul_add(FACTOR, ADDEND))
        })
        .fold(0.0, |sum, x| sum + x)
}
