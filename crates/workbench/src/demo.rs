//! `cargo xtask demo`: from a fresh clone to the demos' table. By now `xtask` has installed the
//! toolchain and built the command.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::workspace;

/// Runs `blockwise demo` with the user's arguments, or `all` if they name no demo. Returns its exit
/// code.
pub(crate) fn run(arguments: &[OsString]) -> Result<ExitCode> {
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
