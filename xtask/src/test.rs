//! `cargo xtask test`: everything that must hold, from a fresh clone.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result};

use crate::workspace::{self, step};
use crate::{build_ptx, gpu, setup, verify_ptx};

pub(crate) fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let (ptxas, setup_time) = step("tools", || {
        setup::toolchain()?;
        setup::libdevice()?;
        setup::ptxas()
    })?;
    let ((), ptx_time) = step("kernels to PTX", build_ptx::for_tests)?;
    let ((), verify_time) = step("PTX through ptxas", || verify_ptx::verify(&ptxas, &[]))?;
    let (outcome, test_time) = step("tests", || cargo_test(arguments))?;

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
    Ok(if outcome.success {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What all test programs together reported.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    success: bool,
    passed: u32,
    failed: u32,
    ignored: u32,
}

impl Outcome {
    /// Adds the figures of a line `test result: ok. 27 passed; 0 failed; 0 ignored; …`.
    fn read(&mut self, line: &str) {
        let Some((_, counts)) = line
            .strip_prefix("test result: ")
            .and_then(|line| line.split_once(". "))
        else {
            return;
        };
        for part in counts.split(';') {
            let mut words = part.split_whitespace();
            let Some(number) = words.next().and_then(|number| number.parse::<u32>().ok()) else {
                continue;
            };
            match words.next() {
                Some("passed") => self.passed += number,
                Some("failed") => self.failed += number,
                Some("ignored") => self.ignored += number,
                _ => {}
            }
        }
    }
}

/// Runs all tests, also behind a test program that fails, and passes their output on.
fn cargo_test(arguments: &[OsString]) -> Result<Outcome> {
    let mut child = workspace::cargo()
        .args(["test", "--workspace", "--locked", "--no-fail-fast"])
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run cargo test")?;
    let mut outcome = Outcome::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n') {
            let line = line.context("cannot read the tests' output")?;
            let line = String::from_utf8_lossy(&line);
            say!("{line}");
            outcome.read(&line);
        }
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
        outcome.read("running 27 tests");
        outcome.read("test result: ok. 27 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.03s");
        outcome.read("test result: FAILED. 2 passed; 4 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.03s");
        outcome.read("test some::name ... ok");
        assert_eq!(
            outcome,
            Outcome {
                success: false,
                passed: 29,
                failed: 4,
                ignored: 1
            }
        );
    }
}
