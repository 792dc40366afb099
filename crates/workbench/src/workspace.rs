//! Where things are in this workspace, and how to call cargo in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The workspace's folder.
pub(crate) fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own)
}

/// cargo's output folder: `target`, unless the user's settings move it.
pub(crate) fn target() -> Result<PathBuf> {
    let output = cargo()
        .args(["metadata", "--no-deps", "--format-version=1"])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", output.status);
    }
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("cargo metadata printed no JSON")?;
    let target = metadata["target_directory"]
        .as_str()
        .context("cargo metadata names no target folder")?;
    Ok(PathBuf::from(target))
}

/// The folder of finished PTX files.
pub(crate) fn ptx() -> Result<PathBuf> {
    Ok(target()?.join("ptx"))
}

/// The folder of fetched tools. `cargo clean` removes it with the rest.
pub(crate) fn tools() -> Result<PathBuf> {
    Ok(target()?.join("tools"))
}

/// The cargo that runs this program, in the workspace's folder.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// The command `blockwise` that `xtask` has built beside this program.
pub(crate) fn program() -> Result<PathBuf> {
    let own = std::env::current_exe().context("where is this program?")?;
    Ok(own.with_file_name(format!("blockwise{}", std::env::consts::EXE_SUFFIX)))
}

/// Builds the command `blockwise` with optimisation; returns its path.
pub(crate) fn optimised_program() -> Result<PathBuf> {
    let mut build = cargo();
    build.args(["build", "--release", "--locked"]);
    build.args(["--package", "blockwise_cli", "--features", "tools"]);
    check(&mut build)?;
    let name = format!("blockwise{}", std::env::consts::EXE_SUFFIX);
    Ok(target()?.join("release").join(name))
}

/// Runs an example of the tests.
pub(crate) fn example(name: &str) -> Command {
    let mut command = cargo();
    command.args(["run", "--quiet", "--locked"]);
    command.args(["--package", "blockwise_tests", "--example", name]);
    command
}

/// Runs a command and returns its exit code. A program ended by a signal has none and counts as
/// failed.
pub(crate) fn exit_code(command: &mut Command) -> Result<ExitCode> {
    let code = status(command)?.code();
    Ok(code
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Runs a command, its output going straight to the user's.
fn status(command: &mut Command) -> Result<ExitStatus> {
    command
        .status()
        .with_context(|| format!("cannot run {}", describe(command)))
}

/// Like [`status`], but a failing command is an error.
pub(crate) fn check(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    if !status.success() {
        bail!("{} failed: {status}", describe(command));
    }
    Ok(())
}

/// A command as it could be typed.
pub(crate) fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Prints a heading, does the step, and returns how long it took.
pub(crate) fn step<T>(heading: &str, work: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
    say!("== {heading}");
    let start = Instant::now();
    Ok((work()?, start.elapsed()))
}
