//! `cargo xtask new`: creates a new project without building the command `blockwise` first.

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use blockwise_new::New;

use crate::setup;

/// Creates the project, and installs what its first build needs.
pub(crate) fn run(arguments: &New) -> Result<ExitCode> {
    setup::toolchain()?;
    let outcome = arguments.run().map_err(|error| match error.hint() {
        Some(hint) => anyhow!("{error}\nhint: {hint}"),
        None => error.into(),
    })?;
    say!("{}", outcome.text);
    Ok(ExitCode::SUCCESS)
}
