//! Typed launchers, one file per family of kernels.
//!
//! Each family has three levels. A `plan` computes kernel, grid, block and shared bytes from lengths and a device's
//! properties, checks every limit, and needs no device. A function on [`DeviceBuffer`]s
//! launches such a plan and times it. A function on `ndarray` views copies in and out around that; views of any layout
//! are accepted, and copied first when they are not contiguous.
//!
//! Outputs are filled with 0xFF bytes before a launch, so that an element that no thread writes is seen.

pub mod conv1d;
mod error;
mod limits;
pub mod matmul;
pub mod reduce;
pub mod reverse;
pub mod transpose;

use std::time::{Duration, Instant};

use ndarray::{Array2, ArrayView, Dimension};

use crate::device::{Arguments, Device, DeviceBuffer, DeviceError, Element, LaunchPlan};

pub use conv1d::{ConvKernel, ConvMode, ConvOptions, ConvPlan, convolve};
pub use error::LaunchError;
pub use limits::check;
pub use matmul::{MatmulKernel, MatmulOptions, matmul};
pub use reduce::{Number, ReduceKernel, ReduceOptions, Reduction, dot, reduce};
pub use reverse::{ReverseKernel, ReverseOptions, reverse};
pub use transpose::{TransposeKernel, TransposeOptions, transpose};

/// The floating-point types that convolution and the matrix product have kernels for.
pub trait Float: Element {}
impl Float for f32 {}
impl Float for f64 {}

/// A launch that has ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// What was launched.
    pub plan: LaunchPlan,
    /// Wall-clock time from the launch to the end of the kernel, without copies.
    pub elapsed: Duration,
}

/// Checks a plan, launches it and waits for its end.
///
/// # Safety
/// As for [`Module::launch`](crate::device::Module::launch).
unsafe fn run(
    device: &Device,
    plan: LaunchPlan,
    arguments: Arguments<'_>,
) -> Result<Execution, LaunchError> {
    check(&plan, device.properties())?;
    let kernels = device.kernels()?;
    // What was asked for before, such as poisoning the output, is not part of the time.
    device.synchronize()?;
    let start = Instant::now();
    // SAFETY: the caller's promise is passed on.
    unsafe { kernels.launch(&plan, &arguments)? };
    device.synchronize()?;
    Ok(Execution {
        plan,
        elapsed: start.elapsed(),
    })
}

/// Checks that `output` has the length that the launch fills, and poisons it.
fn prepare_output<T: Element>(
    output: &mut DeviceBuffer<T>,
    needed: usize,
) -> Result<(), LaunchError> {
    if output.len() != needed {
        return Err(LaunchError::BufferLength {
            what: "output",
            needed,
            given: output.len(),
        });
    }
    Ok(output.poison()?)
}

/// Copies a view to the device in row-major order, whatever its own layout.
fn upload<T: Element, D: Dimension>(
    device: &Device,
    view: &ArrayView<'_, T, D>,
) -> Result<DeviceBuffer<T>, DeviceError> {
    match view.as_slice() {
        Some(contiguous) => DeviceBuffer::from_slice(device, contiguous),
        None => DeviceBuffer::from_slice(device, &view.iter().copied().collect::<Vec<_>>()),
    }
}

/// Copies a row-major matrix from the device.
fn download_matrix<T: Element>(
    buffer: &DeviceBuffer<T>,
    rows: usize,
    cols: usize,
) -> Result<Array2<T>, LaunchError> {
    let values = buffer.copy_to_vec()?;
    Array2::from_shape_vec((rows, cols), values)
        .map_err(|_| LaunchError::SizeOverflow { what: "the matrix" })
}

/// The number of elements of a matrix.
fn matrix_len(rows: usize, cols: usize) -> Result<usize, LaunchError> {
    rows.checked_mul(cols)
        .ok_or(LaunchError::SizeOverflow { what: "the matrix" })
}

/// The kernels that only move data exist for each width of an element: `u32` moves `f32` too.
fn word_name<T: Element>() -> &'static str {
    match size_of::<T>() {
        4 => "u32",
        _ => "u64",
    }
}
