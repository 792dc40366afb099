//! `cargo xtask check`: the kernels of this workspace under the emulator's detectors.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;

use crate::{build_ptx, setup, workspace};

/// Runs the example `check` of the tests on PTX that knows its Rust lines. Its exit code is ours.
pub(crate) fn run(arguments: &[OsString]) -> Result<ExitCode> {
    setup::toolchain()?;
    let folder = build_ptx::kernels_with_lines()?;
    let mut command = workspace::cargo();
    command.args(["run", "--quiet", "--locked"]);
    command.args(["--package", "blockwise_tests", "--example", "check", "--"]);
    command.args(arguments).env("BLOCKWISE_PTX_DIR", folder);
    workspace::exit_code(&mut command)
}
