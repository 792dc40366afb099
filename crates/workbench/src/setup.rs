//! `cargo xtask setup`: installs what is missing, and prints the commands that it runs.
//!
//! It does not look for a C linker: without one this program could not have been built.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Error, Result};
use cuda_tools::install::{Means, Output, is_on_path};
use cuda_tools::{Ptxas, Toolchain, libdevice, ptxas, variables, wheel};

use crate::{nccl, workspace};

pub(crate) fn run(with_browser: bool, with_nccl: bool) -> Result<ExitCode> {
    say!("PTX toolchain: {}", toolchain()?);
    let ptxas = ptxas()?;
    say!("ptxas: CUDA {} ({})", ptxas.version, ptxas.path.display());
    say!("libdevice: {}", libdevice()?.display());
    if with_browser {
        browser()?;
    }
    match with_nccl {
        true => nccl::install(),
        false => Ok(ExitCode::SUCCESS),
    }
}

/// A browser that a test can drive; installed first if there is none.
fn browser() -> Result<()> {
    if !["chromedriver", "tsc"]
        .iter()
        .all(|program| is_on_path(program))
    {
        packages(&["chromium", "chromium-driver", "node-typescript"])?;
    }
    say!("browser: chromium with chromedriver, and tsc");
    Ok(())
}

/// The toolchain for PTX; installed first if there is none.
pub(crate) fn toolchain() -> Result<Toolchain> {
    let report = Toolchain::search();
    if report.chosen().is_none() && !report.environment_is_set() {
        say!("no toolchain here can build PTX:\n{report}installing one");
        return Means::here().toolchain(Output::Shown).map_err(Error::msg);
    }
    Ok(report.into_toolchain()?)
}

/// ptxas; fetched first if there is none.
pub(crate) fn ptxas() -> Result<Ptxas> {
    let cache = workspace::tools()?;
    if let Ok(found) = Ptxas::find(&cache) {
        return Ok(found);
    }
    if std::env::var_os(variables::PTXAS).is_none_or(|path| path.is_empty()) {
        say!("no ptxas here; fetching {} from PyPI", ptxas::WHEEL);
        pip()?;
    }
    Ok(Ptxas::find_or_fetch(&cache)?)
}

/// NVIDIA's mathematical functions; fetched first if there are none.
pub(crate) fn libdevice() -> Result<PathBuf> {
    let cache = workspace::tools()?;
    if let Ok(found) = libdevice::find(&cache) {
        return Ok(found);
    }
    if std::env::var_os(variables::LIBDEVICE).is_none_or(|path| path.is_empty()) {
        say!("no libdevice here; fetching {} from PyPI", libdevice::WHEEL);
        pip()?;
    }
    Ok(libdevice::find_or_fetch(&cache)?)
}

/// A Python with pip; installed first if there is none.
pub(crate) fn pip() -> Result<()> {
    if let Err(reason) = wheel::python_with_pip() {
        say!("{reason}");
        packages(&["python3-pip"])?;
    }
    Ok(())
}

/// Installs Debian packages.
fn packages(names: &[&str]) -> Result<()> {
    let installation = Means::here().packages(names);
    installation
        .and_then(|installation| installation.run(Output::Shown))
        .map_err(Error::msg)
}
