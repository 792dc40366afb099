//! The CUDA driver API as symbols that load libcuda when first called.
//!
//! `cust` and `cust_raw` link against the driver library, so a program that uses them does not even
//! start on a machine without a driver. This crate defines the symbols that they need. Each one
//! finds the real function in the driver on its first call and forwards to it. Without a driver
//! every call returns an error code, and [`status`] gives the reason.
//!
//! A program only has to depend on this crate and mention it once (`use libcuda_loader as _;` is
//! enough). Its binary then does not link to libcuda. `cust_raw`'s build script looks for a CUDA
//! toolkit; the crate `find_cuda_helper`, substituted by `[patch.crates-io]` in the root manifest,
//! prevents that. Projects of a registry have no such patch: `CUDA_LIBRARY_PATH` leads to a folder with
//! an empty `libcuda.a`.
//!
//! The library is looked up by its usual names, or by the path in the environment variable
//! [`LIBRARY_VARIABLE`].
//!
//! Codes newer than `cust_raw`'s enum become `CUDA_ERROR_UNKNOWN`, because an enum with an unnamed
//! value would be undefined behaviour. [`last_failure`] has the driver's actual code.

mod api;
mod failure;
pub mod launch_ex;
mod library;

pub use failure::{Failure, describe, last_failure};
pub use library::{Absence, LIBRARY_VARIABLE, LoadError, status};
