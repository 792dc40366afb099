//! `cargo xtask new` and `exercise`: what the command `blockwise` does too, without building it first.

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use blockwise_new::{Error, Exercise, New};

use crate::{setup, workspace};

/// Creates the project, and installs what its first build needs.
pub(crate) fn run(arguments: &New) -> Result<ExitCode> {
    setup::toolchain()?;
    let outcome = arguments.run().map_err(with_hint)?;
    say!("{}", outcome.text);
    Ok(ExitCode::SUCCESS)
}

/// Tests solutions of exercises, which are in the book's folder.
pub(crate) fn exercise(arguments: &Exercise) -> Result<ExitCode> {
    setup::toolchain()?;
    let book = workspace::root().join("docs/book");
    let tested = arguments.run_from(&book).map_err(with_hint)?;
    say!("{}", tested.text);
    Ok(ExitCode::from(u8::from(!tested.pass())))
}

fn with_hint(error: Error) -> anyhow::Error {
    match error.hint() {
        Some(hint) => anyhow!("{error}\nhint: {hint}"),
        None => error.into(),
    }
}
