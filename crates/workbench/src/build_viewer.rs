//! `cargo xtask build-viewer`: the emulator as WebAssembly for the pages of `blockwise trace`, and
//! its fingerprint.
//!
//! The module is kept in the repository, so that a plain `cargo build` needs no linker for
//! WebAssembly and no minutes of compiling. A test compares the fingerprint with the sources.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};

use crate::{setup, workspace};

#[path = "../../blockwise_viewer/tests/fingerprint/mod.rs"]
mod fingerprint;

const TARGET: &str = "wasm32-unknown-unknown";
/// Programs that link WebAssembly: Debian's package lld-22, and LLVM's own name for it.
const LINKERS: [&str; 2] = ["wasm-ld-22", "wasm-ld"];

pub(crate) fn run() -> Result<ExitCode> {
    let toolchain = setup::toolchain()?;
    let folder = workspace::target()?.join("viewer");
    let mut build = toolchain.command();
    build.current_dir(workspace::root());
    // build-std is unstable: there is no prebuilt standard library beside this compiler.
    build
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_INCREMENTAL", "0");
    build.args([
        "rustc",
        "--locked",
        "--package",
        "blockwise_viewer",
        "--lib",
    ]);
    build.args(["--crate-type", "cdylib", "--profile", "viewer"]);
    build.args(["-Zbuild-std=std,panic_abort", "--target", TARGET]);
    let linker = format!("target.{TARGET}.linker={:?}", linker()?);
    build.arg("--config").arg(linker);
    build.arg("--target-dir").arg(&folder);
    workspace::check(&mut build)?;

    let file = folder.join(TARGET).join("viewer/blockwise_viewer.wasm");
    let module = std::fs::read(&file).with_context(|| format!("no {}", file.display()))?;
    let place = workspace::root().join("crates/blockwise_viewer");
    // Without name and time, so that the same module gives the same file.
    let packed = Command::new("gzip").args(["-9nc"]).arg(&file).output();
    let packed = packed.context("cannot run gzip")?;
    ensure!(packed.status.success(), "gzip failed");
    std::fs::write(place.join("viewer.wasm.gz"), &packed.stdout)?;
    let sources = fingerprint::of(workspace::root())?;
    std::fs::write(place.join("viewer.fingerprint"), format!("{sources}\n"))?;
    say!(
        "{} bytes of WebAssembly from the sources {sources}",
        module.len()
    );
    Ok(ExitCode::SUCCESS)
}

/// The first linker on the `PATH`.
fn linker() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = LINKERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    match places.into_iter().find(|place| place.is_file()) {
        Some(linker) => Ok(linker),
        None => bail!(
            "no linker for WebAssembly ({}): install lld-22",
            LINKERS.join(", ")
        ),
    }
}
