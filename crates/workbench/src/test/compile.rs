//! Compiles the test programs.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Error, Result, bail};
use serde_json::Value;
use xtask::packages::{DEMO, WORKBENCH};

use super::program::Program;
use crate::workspace;

/// Compiles them; returns the programs to run. `arguments` go to `cargo test`.
pub(crate) fn programs(
    arguments: &[OsString],
    variables: &[(&str, String)],
) -> Result<Vec<Program>> {
    let mut command = workspace::cargo();
    command.args(["test", "--locked", "--no-run"]);
    command.args(["--message-format=json-render-diagnostics"]);
    command.args(arguments).envs(variables.iter().cloned());
    let output = messages(command)?;
    Ok(output.lines().filter_map(Program::read).collect())
}

/// Checks that what `xtask` builds for itself and for the demo is what the tests are made of: after
/// them, nothing is compiled again.
///
/// # Errors
/// The packages that would be compiled again: their features differ between the builds.
pub(crate) fn demo_shares_all(variables: &[(&str, String)]) -> Result<()> {
    for packages in [&DEMO[..], &WORKBENCH] {
        let mut command = workspace::cargo();
        command.args(["build", "--locked", "--message-format=json"]);
        command.envs(variables.iter().cloned());
        for package in packages {
            command.args(["--package", package]);
        }
        let output = messages(command)?;
        let again: Vec<_> = output.lines().filter_map(compiled).collect();
        if !again.is_empty() {
            bail!(
                "`cargo xtask {}` and `cargo xtask test` compile these with different features: {}; see \
                 xtask/src/packages.rs",
                if packages == DEMO { "demo" } else { "test" },
                again.join(", ")
            );
        }
    }
    Ok(())
}

/// The package that was just compiled, from a message of cargo's.
fn compiled(line: &str) -> Option<String> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_new = message["reason"] == "compiler-artifact" && message["fresh"] == false;
    is_new.then(|| message["target"]["name"].as_str().map(str::to_owned))?
}

fn messages(mut command: std::process::Command) -> Result<String> {
    let (success, output) = xtask::progress::show_and_read(&mut command).map_err(Error::msg)?;
    if !success {
        bail!("{} failed", workspace::describe(&command));
    }
    Ok(output)
}

/// The folder of the standard library's files that a test of a macro crate loads.
pub(crate) fn libraries() -> Result<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = std::process::Command::new(rustc);
    let output = command
        .current_dir(workspace::root())
        .args(["--print", "target-libdir"])
        .output()
        .context("cannot run rustc")?;
    Ok(PathBuf::from(
        String::from_utf8_lossy(&output.stdout).trim(),
    ))
}

#[cfg(test)]
mod tests {
    use super::compiled;

    #[test]
    fn only_what_is_compiled_now_is_told() {
        let message = |fresh| {
            format!(
                r#"{{"reason":"compiler-artifact","target":{{"name":"serde"}},"fresh":{fresh}}}"#
            )
        };
        assert_eq!(compiled(&message(false)), Some("serde".to_owned()));
        assert_eq!(compiled(&message(true)), None);
        assert_eq!(compiled(r#"{"reason":"build-finished"}"#), None);
    }
}
