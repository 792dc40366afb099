//! A device's limits on a launch's shape.

use launch_contract::launch::{Dim, Shape};

use crate::{DeviceProperties, Error, Result};

/// Maximum threads per block on any GPU. Kernels rely on it, even on an emulator with higher
/// limits.
const MOST_THREADS: u32 = 1024;

/// Refuses a shape that no kernel can have on this device.
pub(crate) fn check(kernel: &str, shape: Shape, device: &DeviceProperties) -> Result<()> {
    let Shape {
        grid,
        block,
        shared_bytes,
    } = shape;
    let threads = u64::from(block.x) * u64::from(block.y) * u64::from(block.z);
    let fits = !is_empty(grid)
        && !is_empty(block)
        && within(grid, device.max_grid)
        && within(block, device.max_block)
        && threads <= device.max_threads_per_block.min(MOST_THREADS).into()
        && shared_bytes <= device.shared_bytes_opt_in;
    match fits {
        true => Ok(()),
        false => Err(refusal(kernel, shape, device)),
    }
}

fn is_empty(dim: Dim) -> bool {
    dim.x == 0 || dim.y == 0 || dim.z == 0
}

fn within(dim: Dim, [x, y, z]: [u32; 3]) -> bool {
    dim.x <= x && dim.y <= y && dim.z <= z
}

/// Describes the exceeded limit.
#[cold]
fn refusal(kernel: &str, shape: Shape, device: &DeviceProperties) -> Error {
    let Shape {
        grid,
        block,
        shared_bytes,
    } = shape;
    let extents = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
    let problem = if is_empty(grid) {
        format!("a grid of {grid} has no blocks")
    } else if is_empty(block) {
        format!("a block of {block} has no threads")
    } else if !within(grid, device.max_grid) {
        let most = extents(device.max_grid);
        format!("a grid of {grid} is larger than the device's {most}")
    } else if shared_bytes > device.shared_bytes_opt_in {
        let most = device.shared_bytes_opt_in;
        format!("{shared_bytes} bytes of shared memory are more than a block's {most}")
    } else {
        let most = extents(device.max_block);
        let threads = device.max_threads_per_block.min(MOST_THREADS);
        format!("a block of {block} is larger than the device's {most} or {threads} threads")
    };
    Error::Shape {
        kernel: kernel.to_owned(),
        problem,
    }
}
