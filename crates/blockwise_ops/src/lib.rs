#![doc = include_str!("../README.md")]
//!
//! # The levels of an operation
//!
//! | level | for whom |
//! | --- | --- |
//! | a function on `ndarray` views: [`convolve`], [`convolve_rows`], [`dot()`], [`reduce()`], [`matmul()`], [`transpose()`], [`reverse()`] | copies in and out; views of any layout |
//! | a function on buffers, such as [`conv1d::convolve_buffers`] | operands that are on the device; waits, and gives the kernel's time |
//! | `enqueue`, such as [`conv1d::enqueue`] | starts the launch and returns; on a [`Stream`](blockwise::Stream) where one is given, and recorded inside [`Device::graph`](blockwise::Device::graph) |
//! | `plan`, such as [`conv1d::plan`] | kernel, grid, block and shared bytes as plain data; checks every limit, needs no device |
//!
//! Operands on the device are a [`Buffer`] or a [view](blockwise::View) of a part of one. An
//! output's contents before a launch do not matter: every element is written.
//!
//! Every operation has a description ([`OPERATIONS`]). By it, [`operation::array`] runs any of them
//! on arrays of any type and number of dimensions that the operation takes.
//!
//! [`pipeline`] does the same for operands of any length, in chunks; [`oracle`] computes the
//! references, and [`compare`] compares results with them.

#![deny(unsafe_code)]

mod array;
mod by_width;
pub mod compare;
pub mod conv1d;
mod element;
mod error;
mod launch;
pub mod limits;
pub mod matmul;
pub mod named;
pub mod operation;
pub mod oracle;
pub mod pipeline;
pub mod reduce;
pub mod reverse;
pub mod scan;
pub mod transpose;
pub mod tuning;

use blockwise::{Buffer, Device};
use ndarray::{Array, ArrayD, ArrayView, Dimension};

pub use array::{AnyArray, Number as AnyNumber};
/// The kernels themselves.
pub use kernels;

pub use conv1d::{ConvMode, ConvOutputs, convolve, convolve_rows};
pub use element::{Element, Float};
pub use error::LaunchError;
pub use launch::{Execution, LaunchPlan};
pub use limits::check;
pub use matmul::matmul;
pub use named::UnknownName;
pub use operation::{Operation, Options, Variant};
pub use reduce::{Number, Partials, Reduction, dot, reduce};
pub use reverse::reverse;
pub use transpose::transpose;

/// Every operation that has a description.
pub static OPERATIONS: &[&Operation] = &[
    &transpose::TRANSPOSE,
    &reverse::REVERSE,
    &scan::SCAN,
    &conv1d::CONV,
    &reduce::SUM,
    &reduce::MIN,
    &reduce::MAX,
    &reduce::MEAN,
    &reduce::ARGMIN,
    &reduce::ARGMAX,
    &reduce::DOT,
    &matmul::MATMUL,
];

/// The operation of this name.
pub fn find(name: &str) -> Option<&'static Operation> {
    let mut all = OPERATIONS.iter().copied();
    all.find(|operation| operation.name == name)
}

/// Checks that the buffer for `what` has the length that the launch needs.
fn check_len(what: &'static str, given: usize, needed: usize) -> Result<(), LaunchError> {
    if given != needed {
        return Err(LaunchError::BufferLength {
            what,
            needed,
            given,
        });
    }
    Ok(())
}

/// Copies a view to the device in row-major order, whatever its own layout.
fn upload<T: Element, D: Dimension>(
    device: &Device,
    view: &ArrayView<'_, T, D>,
) -> Result<Buffer<T>, LaunchError> {
    Ok(match view.as_slice() {
        Some(contiguous) => device.upload(contiguous)?,
        None => device.upload(&view.iter().copied().collect::<Vec<_>>())?,
    })
}

/// An array in the dimensions that its operation always gives.
fn dimensions<T, D: Dimension>(array: ArrayD<T>) -> Result<Array<T, D>, LaunchError> {
    let what = "the result";
    array
        .into_dimensionality()
        .map_err(|_| LaunchError::SizeOverflow { what })
}

/// The number of elements of a matrix.
fn matrix_len(rows: usize, cols: usize) -> Result<usize, LaunchError> {
    rows.checked_mul(cols)
        .ok_or(LaunchError::SizeOverflow { what: "the matrix" })
}
