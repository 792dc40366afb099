//! One test program: where cargo put it, how to run it, and its results.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::workspace;

/// A program built with libtest, or the examples in the documentation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Program {
    /// `ptx_emulator/suite`; unit tests are `ptx_emulator/lib`.
    pub(crate) name: String,
    /// The executable; `None` for the documentation, which cargo runs.
    executable: Option<PathBuf>,
    /// The package's folder, where cargo runs it.
    folder: PathBuf,
    package: String,
}

impl Program {
    /// The examples in the documentation of all packages.
    pub(crate) fn documentation() -> Self {
        Self {
            name: "documentation".to_owned(),
            executable: None,
            folder: workspace::root().to_owned(),
            package: String::new(),
        }
    }

    /// The program named in a line of `cargo test --no-run --message-format=json`.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(line).ok()?;
        if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
            return None;
        }
        let executable = PathBuf::from(message["executable"].as_str()?);
        let manifest = Path::new(message["manifest_path"].as_str()?);
        let folder = manifest.parent()?.to_owned();
        let package = package_of(message["package_id"].as_str()?);
        let target = &message["target"];
        let kind = match target["kind"][0].as_str()? {
            "test" => target["name"].as_str()?,
            kind @ ("bin" | "example") => kind,
            _ => "lib",
        };
        Some(Self {
            name: format!("{package}/{kind}"),
            executable: Some(executable),
            folder,
            package,
        })
    }

    /// Runs it, its output in `file`.
    pub(crate) fn run(&self, with: &Settings<'_>, file: &Path) -> Result<Outcome> {
        let start = Instant::now();
        let output = File::create(file).with_context(|| format!("{}", file.display()))?;
        let again = output.try_clone().context("cannot copy a file's handle")?;
        let mut command = self.command(with)?;
        command.stdin(Stdio::null()).stdout(output).stderr(again);
        for (name, value) in with.variables {
            command.env(name, value);
        }
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot run {}", self.name))?;
        let cpu = cpu_seconds(child.id());
        let status = child.wait().context("cannot wait for a test program")?;
        let text = std::fs::read(file).with_context(|| format!("{}", file.display()))?;
        let mut outcome = Outcome::read(&String::from_utf8_lossy(&text));
        outcome.success = status.success();
        outcome.wall = start.elapsed().as_secs_f64();
        outcome.cpu = cpu;
        Ok(outcome)
    }

    fn command(&self, with: &Settings<'_>) -> Result<Command> {
        let threads = format!("--test-threads={}", with.threads);
        let Some(executable) = &self.executable else {
            let mut command = workspace::cargo();
            command.args(["test", "--locked", "--doc"]).args(with.cargo);
            command.arg("--").arg(threads).args(with.arguments);
            return Ok(command);
        };
        let mut command = Command::new(executable);
        // Passing tests show their output too: it says if they were skipped.
        command
            .args(["--show-output", &threads])
            .args(with.arguments);
        let own = with.filters.iter().find(|(name, _)| *name == self.name);
        command.args(own.into_iter().flat_map(|(_, filters)| filters));
        command.current_dir(&self.folder);
        command.env("CARGO_MANIFEST_DIR", &self.folder);
        command.env("CARGO_PKG_NAME", &self.package);
        let old = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let folders = std::env::split_paths(&old).filter(|path| !path.as_os_str().is_empty());
        let folders = [with.libraries.to_owned()].into_iter().chain(folders);
        let folders = std::env::join_paths(folders).context("a folder with a colon")?;
        command.env("LD_LIBRARY_PATH", folders);
        Ok(command)
    }
}

/// `ptx_emulator` of `path+file:///…/crates/ptx_emulator#0.1.0` and of `…/host#blockwise_cli@0.1.0`.
fn package_of(id: &str) -> String {
    let (path, version) = id.rsplit_once('#').unwrap_or(("", id));
    match version.split_once('@') {
        Some((name, _)) => name.to_owned(),
        None => path.rsplit('/').next().unwrap_or(path).to_owned(),
    }
}

/// How programs are run.
pub(crate) struct Settings<'a> {
    /// Threads of each program.
    pub(crate) threads: usize,
    /// For libtest.
    pub(crate) arguments: &'a [OsString],
    /// The same for programs of these names.
    pub(crate) filters: &'a [(String, Vec<OsString>)],
    /// For cargo, which runs the documentation's examples.
    pub(crate) cargo: &'a [OsString],
    pub(crate) variables: &'a [(&'static str, String)],
    /// The folder of the compiler's libraries, which the tests of a macro crate load.
    pub(crate) libraries: &'a Path,
}

/// CPU seconds of a process that is ending, and of those that it has waited for; 0 if unknown. The
/// caller must still wait for the process.
#[cfg(unix)]
fn cpu_seconds(id: u32) -> f64 {
    use rustix::io::Errno;
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
    let ended = pid.map(|pid| {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        // A signal may interrupt it.
        let interrupted =
            || waitid(WaitId::Pid(pid), options).is_err_and(|error| error == Errno::INTR);
        while interrupted() {}
    });
    let stat = ended.and_then(|()| std::fs::read_to_string(format!("/proc/{id}/stat")).ok());
    stat.and_then(|stat| xtask::spent::of_process(&stat))
        .unwrap_or(0.0)
}

#[cfg(not(unix))]
fn cpu_seconds(_id: u32) -> f64 {
    0.0
}

/// What a program reported.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) success: bool,
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    pub(crate) ignored: u32,
    /// Why tests were skipped, a line each.
    pub(crate) skips: Vec<String>,
    /// Lines that name a random seed.
    pub(crate) seeds: Vec<String>,
    /// Tests that only `--all` runs, a line each.
    pub(crate) left: Vec<String>,
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
}

impl Outcome {
    /// Adds the figures of lines `test result: ok. 27 passed; 0 failed; 0 ignored; …`, and takes
    /// the lines that say what was skipped.
    fn read(output: &str) -> Self {
        let mut outcome = Self::default();
        for line in output.lines().map(str::trim_start) {
            if line.starts_with("skipped") {
                outcome.skips.push(line.to_owned());
            } else if line.starts_with("drawn: ") {
                outcome.seeds.push(line.to_owned());
            } else if line.starts_with("left to `cargo xtask test --all`") {
                outcome.left.push(line.to_owned());
            }
            let Some((_, counts)) = line
                .strip_prefix("test result: ")
                .and_then(|line| line.split_once(". "))
            else {
                continue;
            };
            for part in counts.split(';') {
                let mut words = part.split_whitespace();
                let (Some(first), Some(second)) = (words.next(), words.next()) else {
                    continue;
                };
                let Ok(number) = first.parse::<u32>() else {
                    continue;
                };
                match second {
                    "passed" => outcome.passed += number,
                    "failed" => outcome.failed += number,
                    "ignored" => outcome.ignored += number,
                    _ => {}
                }
            }
        }
        outcome
    }

    /// The skips for which a GPU is not the reason: those for it begin with these words.
    pub(crate) fn avoidable_skips(&self) -> impl Iterator<Item = &String> {
        let of_gpu = ["skipped on the GPU: ", "skipped without a GPU: "];
        let is_of_gpu = move |line: &str| of_gpu.iter().any(|words| line.starts_with(words));
        self.skips.iter().filter(move |line| !is_of_gpu(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_several_parts_add_up_and_skips_are_noted() {
        let outcome = Outcome::read(
            "running 27 tests\n\
             test result: ok. 27 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.03s\n\
             ---- types stdout ----\nskipped: no tsc here\nskipped on the GPU: no driver\n\
             skipped: no tool for a GPU\n\
             drawn: seed 77\nleft to `cargo xtask test --all`: the rest\n\
             test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 61.50s\n",
        );
        assert_eq!(
            (outcome.passed, outcome.failed, outcome.ignored),
            (29, 4, 1)
        );
        assert_eq!(outcome.skips.len(), 3);
        assert_eq!(outcome.seeds, ["drawn: seed 77"]);
        assert_eq!(outcome.left.len(), 1);
        let avoidable: Vec<_> = outcome.avoidable_skips().collect();
        assert_eq!(
            avoidable,
            ["skipped: no tsc here", "skipped: no tool for a GPU"]
        );
    }

    #[test]
    fn programs_are_named_by_package_and_target() {
        let message = |id: &str, kind: &str, name: &str, test: bool| {
            serde_json::json!({
                "reason": "compiler-artifact",
                "package_id": id,
                "manifest_path": "/w/crates/p/Cargo.toml",
                "target": { "kind": [kind], "name": name },
                "profile": { "test": test },
                "executable": "/w/target/debug/deps/p-1",
            })
            .to_string()
        };
        let name =
            |id, kind, name, test| Program::read(&message(id, kind, name, test)).map(|p| p.name);
        let id = "path+file:///w/crates/p#0.1.0";
        assert_eq!(name(id, "lib", "p", true), Some("p/lib".to_owned()));
        assert_eq!(name(id, "proc-macro", "p", true), Some("p/lib".to_owned()));
        assert_eq!(name(id, "test", "suite", true), Some("p/suite".to_owned()));
        let other = "path+file:///w/host#blockwise_cli@0.1.0";
        assert_eq!(
            name(other, "bin", "blockwise", true),
            Some("blockwise_cli/bin".to_owned())
        );
        assert_eq!(name(id, "bin", "p", false), None);
        assert_eq!(Program::read("no JSON"), None);
    }

    #[test]
    fn the_cpu_time_of_a_process_is_counted_and_it_can_be_waited_for() {
        let busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let mut child = Command::new("sh").args(["-c", busy]).spawn().unwrap();
        assert!(cpu_seconds(child.id()) > 0.0);
        assert!(child.wait().unwrap().success());
    }
}
