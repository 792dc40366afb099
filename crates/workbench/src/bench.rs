//! `cargo xtask bench` and `cargo xtask tune`: from a fresh clone to a table of times.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::{setup, workspace};

/// Runs this command of `blockwise` with the user's arguments. Returns its exit code.
pub(crate) fn run(name: &str, arguments: &[OsString]) -> Result<ExitCode> {
    setup::toolchain()?;
    let mut command = Command::new(workspace::optimised_program()?);
    workspace::exit_code(command.arg(name).args(arguments))
}
