//! `cargo xtask demo`: from a fresh clone to the demos' table.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::{setup, workspace};

/// Runs `blockwise demo` with the user's arguments; `all` when they name no demo. Its exit code is
/// ours.
pub(crate) fn run(arguments: &[OsString]) -> Result<ExitCode> {
    setup::toolchain()?;
    let mut command = Command::new(workspace::program()?);
    command.arg("demo");
    if arguments
        .first()
        .is_none_or(|first| first.to_string_lossy().starts_with('-'))
    {
        command.arg("all");
    }
    workspace::exit_code(command.args(arguments))
}
