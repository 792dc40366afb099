//! `cargo xtask doctor`: what is here, what is missing, and the command that fixes it. Changes nothing.

use std::process::ExitCode;

use anyhow::Result;
use cuda_builder::tools::{Ptxas, Toolchain};

use crate::{gpu, workspace};

pub(crate) fn run() -> Result<ExitCode> {
    println!("Rust to PTX (the first complete place is used)");
    let report = Toolchain::search();
    print!("{report}");
    if let Some(toolchain) = report.chosen() {
        println!("  used: {}", toolchain.origin);
    }

    println!("ptxas (checks PTX; `verify-ptx` and `test` need it)");
    let ptxas = Ptxas::find(&workspace::tools()?);
    match &ptxas {
        Ok(ptxas) => println!("  CUDA {}: {}", ptxas.version, ptxas.path.display()),
        Err(error) => println!("  {error}"),
    }

    println!("GPU\n  {}", gpu::describe());

    if report.chosen().is_some() && ptxas.is_ok() {
        println!("\nNothing is missing.");
        return Ok(ExitCode::SUCCESS);
    }
    println!();
    if report.chosen().is_none() {
        println!("No toolchain can build PTX; {}", report.fix());
    }
    if ptxas.is_err() {
        println!("ptxas is missing; fix: cargo xtask setup");
    }
    Ok(ExitCode::FAILURE)
}
