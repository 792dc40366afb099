//! The kernel of fused multiply-adds that measures the device's peak rate.

use blockwise::{Device, DeviceProperties, Instance as _, Stream, ViewMut};
use kernels::peak::fma::peak_fma_f32;

use crate::limits::plan_1d;
use crate::{LaunchError, LaunchPlan, check_len};

/// Plans `blocks` blocks.
///
/// # Errors
/// When a limit is exceeded.
pub fn plan(blocks: u32, properties: &DeviceProperties) -> Result<LaunchPlan, LaunchError> {
    let threads = kernels::peak::fma::THREADS;
    plan_1d(peak_fma_f32::ENTRY.name, blocks, threads, 0, properties)
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
    check_len("output", output.len(), threads(blocks))?;
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
    blocks as usize * kernels::peak::fma::THREADS as usize
}

/// The operations of a launch: two for each fused multiply-add.
pub fn operations(blocks: u32, rounds: u32) -> u64 {
    use kernels::peak::fma::{CHAINS, UNROLL};
    2 * threads(blocks) as u64 * u64::from(rounds) * (CHAINS * UNROLL) as u64
}

/// The value that the launch writes for a thread, exact to the bit.
pub fn expected(thread: usize, rounds: u32) -> f32 {
    use kernels::peak::fma::{ADDEND, CHAINS, FACTOR, UNROLL};
    (0..CHAINS)
        .map(|c| {
            let start = (thread % 256 + c) as f32;
            (0..rounds as usize * UNROLL).fold(start, |x, _| x.mul_add(FACTOR, ADDEND))
        })
        .fold(0.0, |sum, x| sum + x)
}
