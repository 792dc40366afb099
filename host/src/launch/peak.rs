//! The kernel that does nothing but fused multiply-adds: what the device can do at most.

use crate::device::{Arguments, Device, DeviceBuffer, DeviceProperties, LaunchPlan};

use super::limits::plan_1d;
use super::{Launch, LaunchError, check_output};

/// Plans `blocks` blocks.
///
/// # Errors
/// When a limit is broken.
pub fn plan(blocks: u32, properties: &DeviceProperties) -> Result<LaunchPlan, LaunchError> {
    plan_1d(
        "peak_fma_f32".to_owned(),
        blocks,
        kernels::peak::fma::THREADS,
        0,
        properties,
    )
}

/// Binds a launch of `blocks` blocks to its output, which has one element for each thread.
///
/// # Errors
/// Those of [`plan`], and an output of another length.
pub fn bind<'a>(
    device: &'a Device,
    output: &'a mut DeviceBuffer<f32>,
    blocks: u32,
    rounds: u32,
) -> Result<Launch<'a>, LaunchError> {
    let plan = plan(blocks, device.properties())?;
    check_output(output, threads(blocks))?;
    let arguments = Arguments::new().output(output).value(u64::from(rounds));
    // SAFETY: these are the kernel's parameters, and the output has an element for each thread.
    unsafe { Launch::new(device, plan, arguments) }
}

/// The threads of so many blocks.
pub fn threads(blocks: u32) -> usize {
    blocks as usize * kernels::peak::fma::THREADS as usize
}

/// The operations of a launch: two for each fused multiply-add.
pub fn operations(blocks: u32, rounds: u32) -> u64 {
    use kernels::peak::fma::{CHAINS, UNROLL};
    2 * threads(blocks) as u64 * u64::from(rounds) * (CHAINS * UNROLL) as u64
}

/// What the launch writes for a thread, bit by bit.
pub fn expected(thread: usize, rounds: u32) -> f32 {
    use kernels::peak::fma::{ADDEND, CHAINS, FACTOR, UNROLL};
    (0..CHAINS)
        .map(|c| {
            let start = (thread % 256 + c) as f32;
            (0..rounds as usize * UNROLL).fold(start, |x, _| x.mul_add(FACTOR, ADDEND))
        })
        .fold(0.0, |sum, x| sum + x)
}
