//! `cargo xtask bench` and `cargo xtask tune`: from a fresh clone to the table of times.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::Result;
use cuda_builder::NvvmArch;

use crate::{build_ptx, setup, workspace};

/// Runs this command of `blockwise` with the user's arguments. Its exit code is ours.
pub(crate) fn run(name: &str, arguments: &[OsString]) -> Result<ExitCode> {
    setup::toolchain()?;
    // The newest one that the device can run is taken, and for tensor cores the one for their architecture alone.
    use NvvmArch::{Compute80, Compute90, Compute90a};
    build_ptx::kernels(&[Compute80, Compute90, Compute90a], false)?;
    let mut command = Command::new(workspace::program()?);
    workspace::exit_code(command.arg(name).args(arguments))
}
