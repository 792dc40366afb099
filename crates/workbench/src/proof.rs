//! `cargo xtask mutants`: what the detectors find in kernels with a mistake.

use std::process::ExitCode;

use anyhow::Result;

use crate::{setup, workspace};

/// Every mutant of every good kernel.
pub(crate) fn mutants() -> Result<ExitCode> {
    setup::toolchain()?;
    workspace::exit_code(&mut workspace::example("mutants"))
}
