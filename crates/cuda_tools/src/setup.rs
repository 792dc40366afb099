//! Installs what is missing, for `blockwise setup` and `cargo xtask setup`.
//!
//! The commands that run, and why, are shown on standard error. A C linker is not looked for:
//! without one the program that calls this could not have been built.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::install::{Means, Output};
use crate::{Ptxas, Toolchain, libdevice, nccl, nvdisasm, ptxas, variables, wheel};

/// What to install besides the toolchain for PTX.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The folder for what is fetched.
    pub cache: &'a Path,
    /// NVIDIA's assembler, which checks PTX and counts registers.
    pub ptxas: bool,
    /// NCCL, which programs on several GPUs load.
    pub nccl: bool,
}

impl Setup<'_> {
    /// Installs what is missing; returns what is there then, a line each.
    ///
    /// # Errors
    /// The installation that failed, and the command to try by hand.
    pub fn run(&self) -> Result<String, String> {
        let mut text = format!("PTX toolchain: {}", toolchain()?);
        let library = libdevice(self.cache)?;
        let _ = write!(text, "\nlibdevice: {}", library.display());
        if self.ptxas {
            let Ptxas { path, version } = ptxas(self.cache)?;
            let _ = write!(text, "\nptxas: CUDA {version} ({})", path.display());
        }
        if self.nccl {
            let library = nccl(self.cache)?;
            let _ = write!(
                text,
                "\nNCCL: export {}={}",
                nccl::VARIABLE,
                library.display()
            );
        }
        Ok(text)
    }
}

/// The toolchain for PTX; installed first if there is none.
///
/// # Errors
/// Those of [`Means::toolchain`], or tools that variables choose and that are not usable.
pub fn toolchain() -> Result<Toolchain, String> {
    let report = Toolchain::search();
    if report.chosen().is_none() && !report.environment_is_set() {
        eprintln!("no toolchain here can build PTX:\n{report}installing one");
        return Means::here().toolchain(Output::Shown);
    }
    report.into_toolchain().map_err(|error| error.to_string())
}

/// ptxas; fetched first if there is none.
///
/// # Errors
/// Those of [`Ptxas::find_or_fetch`].
pub fn ptxas(cache: &Path) -> Result<Ptxas, String> {
    if let Ok(found) = Ptxas::find(cache) {
        return Ok(found);
    }
    if !is_set(variables::PTXAS) {
        eprintln!("no ptxas here; fetching {} from PyPI", ptxas::WHEEL);
        pip()?;
    }
    Ptxas::find_or_fetch(cache).map_err(|error| error.to_string())
}

/// nvdisasm for the machine code of this ptxas; fetched first if there is none.
///
/// # Errors
/// Those of [`Wheel::fetch`](wheel::Wheel::fetch) and [`pip`].
pub fn nvdisasm(ptxas: &Ptxas, cache: &Path) -> Result<PathBuf, String> {
    if let Some(found) = nvdisasm::find(ptxas, cache) {
        return Ok(found);
    }
    eprintln!("no nvdisasm here; fetching {} from PyPI", nvdisasm::WHEEL);
    pip()?;
    let fetched = nvdisasm::WHEEL.fetch(cache);
    fetched.map_err(|error| error.to_string())
}

/// NVIDIA's mathematical functions; fetched first if there are none.
///
/// # Errors
/// Those of [`libdevice::find_or_fetch`].
pub fn libdevice(cache: &Path) -> Result<PathBuf, String> {
    if let Ok(found) = libdevice::find(cache) {
        return Ok(found);
    }
    if !is_set(variables::LIBDEVICE) {
        eprintln!("no libdevice here; fetching {} from PyPI", libdevice::WHEEL);
        pip()?;
    }
    libdevice::find_or_fetch(cache).map_err(|error| error.to_string())
}

/// NCCL; fetched first if it has not been.
fn nccl(cache: &Path) -> Result<PathBuf, String> {
    if let Some(found) = nccl::WHEEL.found(cache) {
        return Ok(found);
    }
    eprintln!("fetching {} from PyPI", nccl::WHEEL);
    pip()?;
    nccl::WHEEL.fetch(cache).map_err(|error| error.to_string())
}

/// A Python with pip; installed first if there is none.
///
/// # Errors
/// Those of [`packages`].
pub fn pip() -> Result<(), String> {
    if let Err(reason) = wheel::python_with_pip() {
        eprintln!("{reason}");
        packages(&["python3-pip"])?;
    }
    Ok(())
}

/// Installs Debian packages.
///
/// # Errors
/// Why they cannot be installed, with the command for somebody who may.
pub fn packages(names: &[&str]) -> Result<(), String> {
    Means::here().packages(names)?.run(Output::Shown)
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}
