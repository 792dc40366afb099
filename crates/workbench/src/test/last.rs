//! When `cargo xtask test --all` last passed: a committed line, because whole sweeps run only
//! occasionally and on different machines.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace;

fn file() -> PathBuf {
    workspace::root().join("tests/last_all.txt")
}

/// The date and the commit, or that it never passed.
pub(crate) fn read() -> String {
    match std::fs::read_to_string(file()) {
        Ok(text) => format!("`cargo xtask test --all` last passed: {}", text.trim()),
        Err(_) => "`cargo xtask test --all` has not passed yet".to_owned(),
    }
}

/// Notes today and this commit.
pub(crate) fn write() -> Result<()> {
    let date = output("date", &["-u", "+%Y-%m-%d"])?;
    let commit = output("git", &["rev-parse", "--short=12", "HEAD"])?;
    let changes =
        match output("git", &["status", "--porcelain", "--untracked-files=no"])?.is_empty() {
            true => "",
            false => " with changes",
        };
    let file = file();
    std::fs::write(&file, format!("{date}, commit {commit}{changes}\n"))
        .with_context(|| format!("{}", file.display()))?;
    say!("noted in {}: commit that file", file.display());
    Ok(())
}

fn output(program: &str, arguments: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(workspace::root())
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    if !output.status.success() {
        bail!(
            "{program} {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
