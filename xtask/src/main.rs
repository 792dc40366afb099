//! `cargo xtask COMMAND` builds the development commands, `crates/workbench`, and starts them.
//!
//! This program has no dependencies, so that it starts two seconds after the first call on a fresh
//! clone. It then lets Debian install the toolchain for PTX while cargo compiles, and builds what the
//! command needs in one call of cargo: nothing is compiled twice. A plain `cargo xtask demo` needs a
//! program of its own only, neither `blockwise` nor the development commands.

mod beside;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use beside::Beside;
use xtask::packages::{BUILDER, DEMO, WHOLE, WORKBENCH};
use xtask::progress;
use xtask::spent::Spent;

/// What a command needs before it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Needs {
    /// The program of the demos, which then is all that is built.
    demo: bool,
    /// The command `blockwise`, of the same profile.
    whole: bool,
    /// A toolchain for PTX.
    toolchain: bool,
    /// NVIDIA's tools from PyPI.
    pip: bool,
}

impl Needs {
    fn of(arguments: &[OsString]) -> Self {
        let nothing = Needs::default();
        let toolchain = Needs {
            toolchain: true,
            ..nothing
        };
        let mut words = arguments.iter().map(|word| word.to_str());
        match words.next().flatten() {
            // Options are those of `blockwise demo`, and so is the variable.
            Some("demo") => {
                let is_option = |word: Option<&str>| word.is_none_or(|it| it.starts_with('-'));
                let whole = words.any(is_option) || std::env::var_os("BLOCKWISE_PTX_DIR").is_some();
                Needs {
                    demo: !whole,
                    whole,
                    ..toolchain
                }
            }
            Some("test") => Needs {
                pip: true,
                ..toolchain
            },
            Some(
                "bench" | "book" | "build-ptx" | "check" | "checker" | "dist" | "exercise"
                | "mutants" | "new" | "package" | "pitfalls" | "tune",
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
    let needs = Needs::of(arguments);
    let own = std::env::current_exe().map_err(|error| format!("where am I? {error}"))?;
    let (name, arguments) = match needs.demo {
        true => ("blockwise_demo", &arguments[1..]),
        false => ("workbench", arguments),
    };
    let program = own.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let incremental = Incremental::of(program.exists(), std::env::var_os(INCREMENTAL));
    let beside = Beside::start(&own, needs)?;
    let result = build(needs, incremental, beside.as_ref()).and_then(|()| {
        let mut command = Command::new(program);
        command.args(arguments);
        incremental.tell(&mut command);
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

/// cargo's variable.
const INCREMENTAL: &str = "CARGO_INCREMENTAL";

/// Whether cargo keeps what makes the next compilation of an edited crate short: a tenth of the time
/// of the first one. It shares what is compiled with and without.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Incremental {
    /// As cargo and the user want.
    Kept,
    /// This is the first compilation.
    Off,
}

impl Incremental {
    /// `variable` is the user's own choice.
    fn of(compiled_before: bool, variable: Option<OsString>) -> Self {
        match compiled_before || variable.is_some() {
            true => Incremental::Kept,
            false => Incremental::Off,
        }
    }

    fn tell(self, command: &mut Command) {
        if self == Incremental::Off {
            command.env(INCREMENTAL, "0");
        }
    }
}

/// Builds what the command needs.
fn build(needs: Needs, incremental: Incremental, beside: Option<&Beside>) -> Result<(), String> {
    let start = Spent::start();
    let packages: &[&[&str]] = match (needs.demo, needs.whole) {
        (true, _) => &[&DEMO],
        (_, true) => &[&WORKBENCH, &WHOLE],
        _ => &[&WORKBENCH],
    };
    let mut all = cargo(packages, incremental);
    if needs.whole {
        all.args(["--features", "blockwise_cli/tools"]);
    }
    if let Some(beside) = beside {
        beside.tell(&mut all);
        // A build script that waits for the installation occupies one of cargo's jobs.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        all.arg(format!("--jobs={}", cores + 1));
    }
    // Kernels take longest, and mostly one core. So what compiles them is built alone, before the
    // emulator: that is then built on the other core.
    let first = (needs.demo || needs.whole).then(|| cargo(&[&BUILDER], incremental));
    for mut cargo in first.into_iter().chain([all]) {
        if !progress::show(&mut cargo)? {
            return Err("the build failed".to_owned());
        }
    }
    start.end("compile");
    Ok(())
}

/// A call of cargo that builds packages.
fn cargo(packages: &[&[&str]], incremental: Incremental) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    incremental.tell(&mut cargo);
    cargo.args(["build", "--locked"]);
    for package in packages.iter().copied().flatten() {
        cargo.args(["--package", package]);
    }
    cargo
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
    fn only_the_first_compilation_keeps_nothing_for_the_next() {
        let of = |compiled_before, variable: Option<&str>| {
            Incremental::of(compiled_before, variable.map(Into::into))
        };
        assert_eq!(of(false, None), Incremental::Off);
        assert_eq!(of(true, None), Incremental::Kept);
        assert_eq!(of(false, Some("1")), Incremental::Kept);
    }

    #[test]
    fn only_a_demo_with_options_needs_the_whole_command() {
        let needs = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            Needs::of(&words)
        };
        for line in ["demo", "demo conv"] {
            assert!(needs(line).demo && needs(line).toolchain, "{line}");
            assert!(!needs(line).whole, "{line}");
        }
        for line in ["demo --plot plots", "demo conv --json"] {
            assert!(needs(line).whole && !needs(line).demo, "{line}");
        }
        assert!(!needs("test").whole && !needs("test").demo && needs("test").pip);
        assert!(needs("bench").toolchain && !needs("bench").whole);
        assert_eq!(needs("doctor"), Needs::default());
        assert_eq!(Needs::of(&[]), Needs::default());
    }
}
