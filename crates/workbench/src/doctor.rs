//! `cargo xtask doctor`: prints which tools are found, what is missing, and the command that fixes
//! it. Changes nothing.

use std::process::ExitCode;

use anyhow::Result;
use cuda_tools::{Ptxas, Toolchain, libdevice};

use crate::{gpu, nccl, workspace};

pub(crate) fn run() -> Result<ExitCode> {
    say!("Rust to PTX (the first complete place is used)");
    let report = Toolchain::search();
    say!("{}", report.to_string().trim_end());
    if let Some(toolchain) = report.chosen() {
        say!("  used: {}", toolchain.origin);
    }

    say!("ptxas (checks PTX; `verify-ptx` and `test` need it)");
    let ptxas = Ptxas::find(&workspace::tools()?);
    match &ptxas {
        Ok(ptxas) => say!("  CUDA {}: {}", ptxas.version, ptxas.path.display()),
        Err(error) => say!("  {error}"),
    }

    say!("libdevice (kernels that call sin, exp, …; fetched when first needed)");
    match libdevice::find(&workspace::tools()?) {
        Ok(path) => say!("  {}", path.display()),
        Err(error) => say!("  {error}"),
    }

    say!(
        "NCCL (programs on several GPUs load it)\n  {}",
        nccl::describe()?
    );

    say!("GPU\n  {}", gpu::describe());

    if report.chosen().is_some() && ptxas.is_ok() {
        say!("\nNothing is missing.");
        return Ok(ExitCode::SUCCESS);
    }
    say!();
    if report.chosen().is_none() {
        say!("No toolchain can build PTX; {}", report.fix());
    }
    if ptxas.is_err() {
        say!("ptxas is missing; fix: cargo xtask setup");
    }
    Ok(ExitCode::FAILURE)
}
