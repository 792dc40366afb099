//! `cargo xtask mutants`: which detector finds each mistake put into a good kernel.

use std::process::ExitCode;

use anyhow::Result;

use crate::{setup, workspace};

/// Runs every mutant of every good kernel, or of those whose names begin so.
pub(crate) fn mutants(kernels: &[String]) -> Result<ExitCode> {
    setup::toolchain()?;
    let mut command = workspace::example("mutants");
    workspace::exit_code(command.arg("--").args(kernels))
}
