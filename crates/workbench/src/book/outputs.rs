//! The outputs of commands that the book shows, one generated file each in `docs/book/src/output`,
//! and the traces that its pages embed. The outputs are committed, so that a reader of the sources
//! sees them; a test of the command compares them. Traces are generated with the book, because they
//! are large: each contains the emulator.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::list::{OUTPUTS, Output, Part, TRACES};
use super::options;
use crate::workspace;

/// Runs the commands, writes the files again and prints which have changed.
pub(super) fn write(program: &Path) -> Result<()> {
    let folder = super::folder().join("src/output");
    fs::create_dir_all(&folder)?;
    for output in OUTPUTS {
        let text = output
            .text(program)
            .with_context(|| format!("the output `{}`", output.name))?;
        write_if_changed(&folder.join(output.name).with_extension("txt"), &text)?;
    }
    let help = |words: &[String]| run(Command::new(program).args(words).arg("--help"));
    write_if_changed(&folder.join(options::FILE), &options::markdown(help)?)
}

fn write_if_changed(file: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(file).is_ok_and(|before| before == text) {
        return Ok(());
    }
    say!("  changed: {}", file.display());
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// The names of all files.
pub(super) fn names() -> impl Iterator<Item = String> {
    let texts = OUTPUTS.iter().map(|output| format!("{}.txt", output.name));
    texts.chain([options::FILE.to_owned()])
}

/// The traces that pages may embed and link, as `traces/NAME.html`: those of the list, and one for
/// each finding.
pub(super) fn traces() -> impl Iterator<Item = &'static str> {
    let findings = OUTPUTS.iter().filter(|output| output.is_finding());
    let listed = TRACES.iter().map(|trace| trace.name);
    listed.chain(findings.map(|output| output.name))
}

/// Writes the traces into a folder.
pub(super) fn write_traces(program: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let file = |name: &str| folder.join(name).with_extension("html");
    for trace in TRACES {
        let mut command = Command::new(program);
        command.arg("trace").args(trace.words.split_whitespace());
        run(command.arg("-o").arg(file(trace.name)))?;
    }
    for output in OUTPUTS.iter().filter(|output| output.is_finding()) {
        let mut command = Command::new(program);
        command.args(output.words());
        run(command.arg("--html").arg(file(output.name)))?;
    }
    Ok(())
}

impl Output {
    fn is_finding(&self) -> bool {
        matches!(self.part, Part::Finding { .. })
    }

    /// The file's text.
    fn text(&self, program: &Path) -> Result<String> {
        let text = self.shown(&run(Command::new(program).args(self.words()))?)?;
        let here = workspace::root().to_string_lossy();
        ensure!(!text.contains(&*here), "a path of this machine: {text}");
        Ok(text)
    }
}

/// Runs a command in the workspace's folder; returns its output.
fn run(command: &mut Command) -> Result<String> {
    let output = command
        .current_dir(workspace::root())
        .output()
        .with_context(|| format!("cannot run {}", workspace::describe(command)))?;
    // 1: something was found.
    ensure!(
        matches!(output.status.code(), Some(0 | 1)),
        "{} failed: {}",
        workspace::describe(command),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
