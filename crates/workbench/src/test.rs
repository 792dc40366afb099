//! `cargo xtask test`: everything that must hold, from a fresh clone.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::workspace::{self, step};
use crate::{build_ptx, gpu, setup, verify_ptx};

/// The variable by which `--all` asks tests for whole sweeps in place of telling cases.
const ALL: &str = "BLOCKWISE_TEST_ALL";

/// How many of the slowest test programs are named.
const SLOWEST: usize = 10;

/// Builds everything and runs the tests; arguments go to `cargo test`, but for `--all`.
pub(crate) fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let (ptxas, setup_time) = step("tools", || {
        setup::toolchain()?;
        setup::libdevice()?;
        setup::ptxas()
    })?;
    let all = arguments.iter().any(|argument| argument == "--all");
    let ((), ptx_time) = step("kernels to PTX", || build_ptx::for_tests(all))?;
    let ((), verify_time) = step("PTX through ptxas", || verify_ptx::verify(&ptxas, &[]))?;
    let (outcome, test_time) = step("tests", || cargo_test(arguments, all))?;

    say!("== summary");
    for (name, time) in [
        ("tools", setup_time),
        ("PTX", ptx_time),
        ("ptxas", verify_time),
        ("tests", test_time),
    ] {
        say!("  {name:<6} {:>6.1} s", time.as_secs_f64());
    }
    say!("  GPU: {}", gpu::describe());
    say!(
        "  {} passed, {} failed, {} ignored",
        outcome.passed,
        outcome.failed,
        outcome.ignored
    );
    for (seconds, program) in outcome.slowest() {
        say!("  {seconds:>6.1} s  {program}");
    }
    Ok(if outcome.success {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What all test programs together reported.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    success: bool,
    passed: u32,
    failed: u32,
    ignored: u32,
    /// The program that runs now.
    program: String,
    /// Seconds that each program ran.
    times: Vec<(f64, String)>,
}

impl Outcome {
    /// Notes a line `Running tests/cli/main.rs (…)`, or adds the figures of a line `test result:
    /// ok. 27 passed; 0 failed; 0 ignored; …; finished in 0.03s`.
    fn read(&mut self, line: &str) {
        let line = line.trim_start();
        if let Some(program) = line.strip_prefix("Running ") {
            // The name in parentheses is that of the crate, with a hash.
            let name = program.rsplit_once("/deps/");
            let name = name.and_then(|(_, name)| name.rsplit_once('-'));
            let source = program.split(" (").next().unwrap_or(program);
            self.program = match name {
                Some((name, _)) => format!("{name}: {source}"),
                None => source.to_owned(),
            };
        } else if let Some(name) = line.strip_prefix("Doc-tests ") {
            self.program = format!("{name}: examples in the documentation");
        }
        let Some((_, counts)) = line
            .strip_prefix("test result: ")
            .and_then(|line| line.split_once(". "))
        else {
            return;
        };
        for part in counts.split(';') {
            let mut words = part.split_whitespace();
            let (Some(first), Some(second)) = (words.next(), words.next()) else {
                continue;
            };
            if let Ok(number) = first.parse::<u32>() {
                match second {
                    "passed" => self.passed += number,
                    "failed" => self.failed += number,
                    "ignored" => self.ignored += number,
                    _ => {}
                }
            }
            let seconds = part.trim().strip_prefix("finished in ");
            let seconds = seconds.and_then(|rest| rest.trim_end().strip_suffix('s'));
            if let Some(seconds) = seconds.and_then(|text| text.parse().ok()) {
                self.times.push((seconds, self.program.clone()));
            }
        }
    }

    /// The programs that ran longest, longest first.
    fn slowest(&self) -> Vec<(f64, &str)> {
        let mut times: Vec<_> = self.times.iter().map(|(s, of)| (*s, of.as_str())).collect();
        times.sort_by(|a, b| b.0.total_cmp(&a.0));
        times.truncate(SLOWEST);
        times
    }
}

/// Runs all tests, also after a test program that fails, and passes their output on. Both streams
/// go through one pipe: cargo names a program on one, and its result stands on the other.
fn cargo_test(arguments: &[OsString], all: bool) -> Result<Outcome> {
    let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    let mut command = workspace::cargo();
    command
        .args(["test", "--workspace", "--locked", "--no-fail-fast"])
        .args(arguments.iter().filter(|argument| *argument != "--all"));
    if all {
        command.env(ALL, "1");
    }
    let again = writer.try_clone().context("cannot make a pipe")?;
    command.stdout(writer).stderr(again);
    let mut child = command.spawn().context("cannot run cargo test")?;
    // It holds the pipe's other end.
    drop(command);
    let mut outcome = Outcome::default();
    for line in BufReader::new(reader).split(b'\n') {
        let line = line.context("cannot read the tests' output")?;
        let line = String::from_utf8_lossy(&line);
        say!("{line}");
        outcome.read(&line);
    }
    outcome.success = child
        .wait()
        .context("cannot wait for cargo test")?
        .success();
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::Outcome;

    #[test]
    fn results_of_several_programs_add_up() {
        let mut outcome = Outcome::default();
        for line in [
            "     Running unittests src/lib.rs (target/debug/deps/kernels-8111545e8525b621)",
            "running 27 tests",
            "test result: ok. 27 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.03s",
            "     Running tests/cli/main.rs (target/debug/deps/cli-8c026e4ad441dda7)",
            "test some::name ... ok",
            "test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 61.50s",
        ] {
            outcome.read(line);
        }
        assert_eq!(
            (outcome.passed, outcome.failed, outcome.ignored),
            (29, 4, 1)
        );
        assert_eq!(
            outcome.slowest(),
            [
                (61.5, "cli: tests/cli/main.rs"),
                (0.03, "kernels: unittests src/lib.rs")
            ]
        );
    }
}
