//! `cargo xtask mutants` and `cargo xtask alarms`: what the detectors find when there is something, and when there is not.

use std::process::ExitCode;

use anyhow::Result;
use cuda_builder::NvvmArch;

use crate::{build_ptx, setup, workspace};

/// Every mutant of every good kernel.
pub(crate) fn mutants() -> Result<ExitCode> {
    example("mutants")
}

/// Every good kernel in every size and in many schedules.
pub(crate) fn alarms() -> Result<ExitCode> {
    example("alarms")
}

fn example(name: &str) -> Result<ExitCode> {
    setup::toolchain()?;
    build_ptx::kernels(&[NvvmArch::Compute80], false)?;
    let mut command = workspace::cargo();
    command.args(["run", "--quiet", "--locked"]);
    command.args(["--package", "blockwise_tests", "--example", name]);
    workspace::exit_code(&mut command)
}
