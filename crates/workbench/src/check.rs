//! `cargo xtask check`: the kernels of this workspace under the emulator's detectors.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;

use crate::{setup, workspace};

/// Runs the tests' example `check`. Returns its exit code.
pub(crate) fn run(arguments: &[OsString]) -> Result<ExitCode> {
    setup::toolchain()?;
    workspace::exit_code(workspace::example("check").arg("--").args(arguments))
}
