//! `cargo xtask mutants`: what the detectors find in kernels with a mistake.

use std::process::ExitCode;

use anyhow::Result;
use cuda_builder::NvvmArch;

use crate::{build_ptx, setup, workspace};

/// Every mutant of every good kernel.
pub(crate) fn mutants() -> Result<ExitCode> {
    setup::toolchain()?;
    build_ptx::kernels(&[NvvmArch::Compute80], false)?;
    let mut command = workspace::cargo();
    command.args(["run", "--quiet", "--locked"]);
    command.args(["--package", "blockwise_tests", "--example", "mutants"]);
    workspace::exit_code(&mut command)
}
