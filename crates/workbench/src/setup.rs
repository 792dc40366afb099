//! `cargo xtask setup` and `cargo xtask doctor`: what is missing, installed or listed.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Error, Result};
use cuda_tools::install::is_on_path;
use cuda_tools::setup::{self, Setup};
use cuda_tools::{Ptxas, Toolchain};

use crate::workspace;

pub(crate) fn run(with_browser: bool, nccl: bool) -> Result<ExitCode> {
    let setup = Setup {
        cache: &workspace::tools()?,
        ptxas: true,
        nccl,
    };
    say!("{}", setup.run().map_err(Error::msg)?);
    say!("nvdisasm: {}", nvdisasm(&ptxas()?)?.display());
    if with_browser {
        browser()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints which tools are found, what is missing, and the command that fixes it.
pub(crate) fn doctor() -> Result<ExitCode> {
    let diagnosis = cuda_tools::doctor::examine(&workspace::tools()?, "cargo xtask setup", true);
    say!("{}", diagnosis.text);
    Ok(ExitCode::from(u8::from(!diagnosis.complete)))
}

/// The toolchain for PTX; installed first if there is none.
pub(crate) fn toolchain() -> Result<Toolchain> {
    setup::toolchain().map_err(Error::msg)
}

/// ptxas; fetched first if there is none.
pub(crate) fn ptxas() -> Result<Ptxas> {
    setup::ptxas(&workspace::tools()?).map_err(Error::msg)
}

/// nvdisasm for the machine code of this ptxas; fetched first if there is none.
pub(crate) fn nvdisasm(ptxas: &Ptxas) -> Result<PathBuf> {
    setup::nvdisasm(ptxas, &workspace::tools()?).map_err(Error::msg)
}

/// NVIDIA's mathematical functions; fetched first if there are none.
pub(crate) fn libdevice() -> Result<PathBuf> {
    setup::libdevice(&workspace::tools()?).map_err(Error::msg)
}

/// A Python with pip; installed first if there is none.
pub(crate) fn pip() -> Result<()> {
    setup::pip().map_err(Error::msg)
}

/// A browser that a test can drive, and what else only tests need; installed first if there is none.
fn browser() -> Result<()> {
    if !["chromedriver", "tsc"]
        .iter()
        .all(|program| is_on_path(program))
    {
        setup::packages(&["chromium", "chromium-driver", "node-typescript"]).map_err(Error::msg)?;
    }
    say!("browser: chromium with chromedriver, and tsc");
    let mut numpy = Command::new("python3");
    let is_there = numpy.args(["-c", "import numpy"]).output();
    if !is_there.is_ok_and(|output| output.status.success()) {
        setup::packages(&["python3-numpy"]).map_err(Error::msg)?;
    }
    say!("NumPy, in place of the peers' CuPy");
    Ok(())
}
