//! `cargo xtask pitfalls`: the documents' mistakes, each as a kernel, and what the emulator says of
//! it.

use std::process::ExitCode;

use anyhow::Result;

use crate::{build_ptx, setup, workspace};

pub(crate) fn run() -> Result<ExitCode> {
    setup::toolchain()?;
    build_ptx::broken_kernels()?;
    workspace::exit_code(&mut workspace::example("pitfalls"))
}
