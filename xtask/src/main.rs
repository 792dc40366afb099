//! `cargo xtask COMMAND` builds the development commands, `crates/workbench`, and starts them.
//!
//! This program has no dependencies, so that it starts two seconds after the first call on a fresh
//! clone. It then lets Debian install the toolchain for PTX while cargo compiles, and builds the
//! commands in the same call of cargo as `blockwise`: nothing is compiled twice.

mod beside;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use beside::Beside;
use xtask::progress;
use xtask::spent::Spent;

/// Built for every command. Cargo gives a package that is named the features of `cargo test
/// --workspace`: that is why libraries of these programs stand here.
const WORKBENCH: [&str; 2] = ["workbench", "cuda_std_macros"];

/// Built for the demo too.
const PROGRAM: [&str; 6] = [
    "blockwise_cli",
    "blockwise",
    "blockwise_mesh",
    "blockwise_ops",
    "cuda_std",
    "find_cuda_helper",
];

/// What a command needs before it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Needs {
    /// The command `blockwise`, of the same profile.
    program: bool,
    /// A toolchain for PTX.
    toolchain: bool,
    /// NVIDIA's tools from PyPI.
    pip: bool,
}

impl Needs {
    fn of(command: Option<&OsStr>) -> Self {
        let nothing = Needs::default();
        let toolchain = Needs {
            toolchain: true,
            ..nothing
        };
        match command.and_then(OsStr::to_str) {
            Some("demo") => Needs {
                program: true,
                ..toolchain
            },
            Some("test") => Needs {
                pip: true,
                ..toolchain
            },
            Some(
                "bench" | "book" | "build-ptx" | "check" | "checker" | "mutants" | "new"
                | "pitfalls" | "tune",
            ) => toolchain,
            _ => nothing,
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let code = if let Some((beside::ARGUMENT, rest)) = beside::split(&arguments) {
        beside::install(rest).map(|()| 0)
    } else {
        run(&arguments)
    };
    match code {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Builds, then runs the command. Its exit code is ours.
fn run(arguments: &[OsString]) -> Result<u8, String> {
    let needs = Needs::of(arguments.first().map(OsString::as_os_str));
    let own = std::env::current_exe().map_err(|error| format!("where am I? {error}"))?;
    let beside = Beside::start(&own, needs)?;
    let result = build(needs, beside.as_ref()).and_then(|()| {
        let name = format!("workbench{}", std::env::consts::EXE_SUFFIX);
        let mut command = Command::new(own.with_file_name(name));
        command.args(arguments);
        if let Some(beside) = &beside {
            beside.tell(&mut command);
        }
        let start = Spent::start();
        let code = status(&mut command);
        start.end("run");
        code
    });
    let installed = beside.map_or(Ok(()), Beside::finish);
    match (result, installed) {
        (Ok(code), _) => Ok(code),
        // Without the toolchain the build fails too: this is why.
        (Err(_), Err(cause)) => Err(cause),
        (Err(error), Ok(())) => Err(error),
    }
}

/// One call of cargo for everything that the command needs.
fn build(needs: Needs, beside: Option<&Beside>) -> Result<(), String> {
    let start = Spent::start();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo.args(["build", "--locked"]);
    let program = needs.program.then_some(PROGRAM).into_iter().flatten();
    for package in WORKBENCH.into_iter().chain(program) {
        cargo.args(["--package", package]);
    }
    if let Some(beside) = beside {
        beside.tell(&mut cargo);
        // A build script that waits for the installation occupies one of cargo's jobs.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        cargo.arg(format!("--jobs={}", cores + 1));
    }
    let success = progress::show(&mut cargo)?;
    start.end("compile");
    if success {
        Ok(())
    } else {
        Err("the build failed".to_owned())
    }
}

/// Runs a command in this terminal. Ended by a signal it has no code and counts as failed.
fn status(command: &mut Command) -> Result<u8, String> {
    let status = command.status().map_err(|error| {
        let program = Path::new(command.get_program());
        format!("cannot run {}: {error}", program.display())
    })?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.unwrap_or(1))
}

/// The workspace's folder.
fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_demo_needs_the_program_first() {
        let needs = |command: &str| Needs::of(Some(command.as_ref()));
        assert!(needs("demo").program && needs("demo").toolchain);
        assert!(!needs("test").program && needs("test").pip);
        assert!(needs("bench").toolchain && !needs("bench").program);
        assert_eq!(needs("doctor"), Needs::default());
        assert_eq!(Needs::of(None), Needs::default());
    }
}
