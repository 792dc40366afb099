//! Compiles the test programs.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Error, Result, bail};
use serde_json::Value;
use xtask::packages::{BUILDER, DEMO, WORKBENCH};

use super::program::Program;
use crate::workspace;

/// Compiles them; returns the programs to run, and the libraries of which there are two.
pub(crate) fn programs(
    arguments: &[OsString],
    variables: &[(&str, String)],
) -> Result<(Vec<Program>, Vec<String>)> {
    let mut command = workspace::cargo();
    command.args(["test", "--locked", "--no-run"]);
    command.args(["--message-format=json-render-diagnostics"]);
    command.args(arguments).envs(variables.iter().cloned());
    let output = messages(command)?;
    let programs = output.lines().filter_map(Program::read).collect();
    Ok((programs, twice(&output)))
}

/// Checks that what `xtask` builds for itself and for the demo is what the tests are made of: none of
/// it is compiled once more for them, and after them nothing is compiled again. `twice` is of
/// [`programs`].
///
/// # Errors
/// The packages that are compiled twice: their features differ between the builds.
pub(crate) fn demo_shares_all(twice: &[String], variables: &[(&str, String)]) -> Result<()> {
    if !twice.is_empty() {
        bail!(
            "`cargo xtask test` compiles these twice, for build scripts and for programs: their \
             features differ, or those of a dependency (`cargo tree -e features -i NAME`; \
             crates/cuda_builder/Cargo.toml names such): {}",
            twice.join(", ")
        );
    }
    for packages in [&DEMO[..], &BUILDER, &WORKBENCH] {
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
                if packages == WORKBENCH {
                    "test"
                } else {
                    "demo"
                },
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

/// The libraries of which a build has two files.
fn twice(output: &str) -> Vec<String> {
    let mut files: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for line in output.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let is_library = message["target"]["crate_types"]
            .as_array()
            .is_some_and(|of| of.iter().any(|of| of != "bin"));
        if is_library && message["profile"]["test"] == false {
            let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
            let name = (
                text(&message["target"]["name"]),
                text(&message["package_id"]),
            );
            files
                .entry(name)
                .or_default()
                .insert(text(&message["filenames"][0]));
        }
    }
    let twice = files.into_iter().filter(|(_, files)| files.len() > 1);
    twice.map(|((name, _), _)| name).collect()
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
    use super::{compiled, twice};

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

    #[test]
    fn a_library_with_two_files_is_compiled_twice() {
        let message = |package: &str, kind: &str, file: &str, test: bool| {
            format!(
                r#"{{"package_id":"{package}","target":{{"name":"{package}","crate_types":["{kind}"]}},"profile":{{"test":{test}}},"filenames":["{file}"]}}"#
            )
        };
        let once = [
            message("a", "lib", "liba-1.rlib", false),
            message("a", "lib", "a-2", true),
            message("a", "bin", "a-3", false),
            message("a", "bin", "build-script-build-4", false),
            message("b", "lib", "libb-1.rlib", false),
        ];
        assert!(twice(&once.join("\n")).is_empty());
        let more = message("b", "lib", "libb-2.rlib", false);
        assert_eq!(twice(&[once.join("\n"), more].join("\n")), ["b"]);
    }
}
