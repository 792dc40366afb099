//! Typed launchers, one file per family of kernels.
//!
//! Each family has four levels. A `plan` computes kernel, grid, block and shared bytes from lengths and a device's
//! properties, checks every limit, and needs no device. A `bind` joins such a plan with [`DeviceBuffer`]s to a [`Launch`],
//! which can be started without waiting, for example to be timed. A function on buffers runs it and waits. A function on
//! `ndarray` views copies in and out around that; views of any layout are accepted, and copied first when they are not
//! contiguous.
//!
//! [`Launch::run`] fills outputs with 0xFF bytes before the launch, so that an element that no thread writes is seen.

pub mod conv1d;
mod error;
mod limits;
pub mod matmul;
pub mod peak;
pub mod pitched;
pub mod reduce;
pub mod reverse;
pub mod tensor;
pub mod transpose;

use std::time::{Duration, Instant};

use ndarray::{Array2, ArrayView, Dimension};

use crate::device::{Arguments, Device, DeviceBuffer, DeviceError, Element, LaunchPlan, Stream};

pub use conv1d::{ConvKernel, ConvMode, ConvOptions, ConvOutputs, ConvPlan, convolve};
pub use error::LaunchError;
pub use limits::check;
pub use matmul::{MatmulKernel, MatmulOptions, matmul};
pub use pitched::PitchedMatmul;
pub use reduce::{Number, ReduceKernel, ReduceOptions, Reduction, dot, reduce};
pub use reverse::{ReverseKernel, ReverseOptions, reverse};
pub use tensor::{TensorMatmul, matmul_tensor};
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

/// A launch bound to its buffers, which it borrows: all that can be checked was checked. Each family has a function that
/// makes one.
pub struct Launch<'a> {
    device: &'a Device,
    plan: LaunchPlan,
    arguments: Arguments<'a>,
}

impl<'a> Launch<'a> {
    /// Checks the plan against the device's limits.
    ///
    /// # Safety
    /// As for [`Module::launch`](crate::device::Module::launch), and however often it is launched.
    unsafe fn new(
        device: &'a Device,
        plan: LaunchPlan,
        arguments: Arguments<'a>,
    ) -> Result<Self, LaunchError> {
        check(&plan, device.properties())?;
        Ok(Self {
            device,
            plan,
            arguments,
        })
    }

    /// What is launched.
    pub fn plan(&self) -> &LaunchPlan {
        &self.plan
    }

    /// Starts the kernel behind all that was started before. On a GPU it may still run when this returns.
    ///
    /// # Errors
    /// What goes wrong on the device; on a GPU some of it shows only at [`Device::synchronize`].
    pub fn enqueue(&self) -> Result<(), LaunchError> {
        let kernels = self.device.kernels()?;
        // SAFETY: `new`'s caller has promised it.
        unsafe { kernels.launch(&self.plan, &self.arguments)? };
        Ok(())
    }

    /// Poisons the outputs and starts the kernel, both on a stream.
    ///
    /// # Errors
    /// What goes wrong on the device; on a GPU some of it shows only at [`Stream::synchronize`].
    pub fn start_on(&self, stream: &Stream) -> Result<(), LaunchError> {
        self.arguments.poison_outputs_on(stream)?;
        let kernels = self.device.kernels()?;
        // SAFETY: `new`'s caller has promised it.
        unsafe { kernels.launch_on(stream, &self.plan, &self.arguments)? };
        Ok(())
    }

    /// Poisons the outputs, starts the kernel and waits for its end.
    ///
    /// # Errors
    /// What goes wrong on the device.
    pub fn run(self) -> Result<Execution, LaunchError> {
        self.arguments.poison_outputs()?;
        // What was asked for before, such as poisoning the output, is not part of the time.
        self.device.synchronize()?;
        let start = Instant::now();
        self.enqueue()?;
        self.device.synchronize()?;
        Ok(Execution {
            plan: self.plan,
            elapsed: start.elapsed(),
        })
    }
}

/// Checks that `output` has the length that the launch fills.
fn check_output<T: Element>(output: &DeviceBuffer<T>, needed: usize) -> Result<(), LaunchError> {
    if output.len() != needed {
        return Err(LaunchError::BufferLength {
            what: "output",
            needed,
            given: output.len(),
        });
    }
    Ok(())
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
