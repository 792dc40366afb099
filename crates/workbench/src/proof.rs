//! `cargo xtask mutants`: which detector finds each mistake put into a good kernel.

use std::process::ExitCode;

use anyhow::Result;

use crate::{setup, workspace};

/// Runs every mutant of every good kernel.
pub(crate) fn mutants() -> Result<ExitCode> {
    setup::toolchain()?;
    workspace::exit_code(&mut workspace::example("mutants"))
}
