//! `cargo xtask pitfalls`: the mistakes in the documents, each as a kernel, and the emulator's
//! finding.

use std::process::ExitCode;

use anyhow::Result;

use crate::{build_ptx, setup, workspace};

pub(crate) fn run() -> Result<ExitCode> {
    setup::toolchain()?;
    build_ptx::broken_kernels()?;
    workspace::exit_code(&mut workspace::example("pitfalls"))
}
