//! The installation that runs while cargo compiles: this program again, as a process of its own.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use cuda_tools::install::{LOCK, Means, Output};
use cuda_tools::{Ptxas, Toolchain, libdevice, wheel};

use xtask::spent::Spent;

use crate::Needs;

/// The first argument of the process that installs.
pub(crate) const ARGUMENT: &str = "--install-beside";

/// How many lines of a failed installation's output are shown.
const SHOWN: usize = 20;

/// The first argument and the others.
pub(crate) fn split(arguments: &[OsString]) -> Option<(&str, &[OsString])> {
    let (first, rest) = arguments.split_first()?;
    Some((first.to_str()?, rest))
}

/// An installation beside this process.
pub(crate) struct Beside {
    installs: Child,
    /// Locked until it ends.
    lock: PathBuf,
}

impl Beside {
    /// Starts it if a tool that `needs` names is missing. `own` is this program's file.
    pub(crate) fn start(own: &Path, needs: Needs) -> Result<Option<Self>, String> {
        if !needs.toolchain {
            return Ok(None);
        }
        let report = Toolchain::search();
        let toolchain = report.chosen().is_none() && !report.environment_is_set();
        let pip = needs.pip && lacks_pip(own);
        if !toolchain && !pip {
            return Ok(None);
        }
        let means = Means::here();
        if toolchain && means.may_ask() {
            // Nobody can answer a question below the lines of a build.
            means.toolchain(Output::Shown)?;
            return Ok(None);
        }
        if toolchain {
            eprintln!(
                "no toolchain here can build PTX:\n{report}installing one while cargo compiles"
            );
        }
        let folder = own.parent().unwrap_or(own);
        let lock = folder.join("installing.lock");
        let file = File::create(&lock).map_err(|e| format!("{}: {e}", lock.display()))?;
        if file.try_lock().is_err() {
            // Another `cargo xtask` installs: whoever needs its result waits for it.
            file.lock()
                .map_err(|e| format!("{}: {e}", lock.display()))?;
            return Ok(None);
        }
        let mut command = Command::new(own);
        command.arg(ARGUMENT).arg(folder.join("installing.log"));
        command.args(toolchain.then_some("toolchain"));
        command.args(pip.then_some("pip"));
        // The lock belongs to the open file: it ends with the last process that has it, that one.
        command.stdin(Stdio::from(file));
        let installs = command.spawn();
        let installs = installs.map_err(|e| format!("cannot run {}: {e}", own.display()))?;
        Ok(Some(Self { installs, lock }))
    }

    /// Makes a command wait for the installation where it needs the toolchain.
    pub(crate) fn tell(&self, command: &mut Command) {
        command.env(LOCK, &self.lock);
    }

    /// Waits for the end; the error has been shown.
    pub(crate) fn finish(mut self) -> Result<(), String> {
        match self.installs.wait() {
            Ok(status) if status.success() => Ok(()),
            _ => Err("the installation failed, see above".to_owned()),
        }
    }
}

/// Whether something of PyPI is to be fetched and there is no pip for it.
fn lacks_pip(own: &Path) -> bool {
    // `own` is target/debug/xtask.
    let tools = own.ancestors().nth(2).map(|target| target.join("tools"));
    let Some(tools) = tools else { return false };
    (Ptxas::find(&tools).is_err() || libdevice::find(&tools).is_err())
        && wheel::python_with_pip().is_err()
}

/// The process that installs: what it is told, with the output of the commands in a file.
pub(crate) fn install(arguments: &[OsString]) -> Result<(), String> {
    let start = Spent::start();
    let (log, wanted) = arguments.split_first().ok_or("no file to write")?;
    let log = Path::new(log);
    let file = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let wants = |what: &str| wanted.iter().any(|one| one.as_os_str() == OsStr::new(what));
    let means = Means::here().unattended();
    let run = || {
        if wants("toolchain") {
            let toolchain = means.toolchain(Output::Kept(&file))?;
            eprintln!("installed: {toolchain}");
        }
        if wants("pip") {
            means.packages(&["python3-pip"])?.run(Output::Kept(&file))?;
            eprintln!("installed: python3-pip");
        }
        Ok(())
    };
    let result = run().map_err(|error: String| format!("{error}\n{}", end_of(log)));
    start.end("install");
    result
}

/// The last lines of a file.
fn end_of(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN)..].join("\n")
}
