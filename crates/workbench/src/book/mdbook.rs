//! mdBook, compiled once into the folder of fetched tools: Debian has no package for it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::workspace;

const VERSION: &str = "0.5.4";

/// mdBook of that version; installed first if it is not there.
pub(super) fn program() -> Result<PathBuf> {
    let tools = workspace::tools()?;
    let program = tools
        .join("bin/mdbook")
        .with_extension(std::env::consts::EXE_EXTENSION);
    if !is_there(&program) {
        say!("no mdBook {VERSION} here; cargo compiles it (minutes, once)");
        let mut install = workspace::cargo();
        install.args(["install", "--quiet", "--locked", "--root"]);
        install.arg(&tools);
        // Unoptimised, it is fast enough. Of the default features, the search is needed; the others
        // are for mdBook's server.
        install.args(["--debug", "--no-default-features", "--features", "search"]);
        workspace::check(install.arg(format!("mdbook@{VERSION}")))?;
    }
    Ok(program)
}

fn is_there(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).trim() == format!("mdbook v{VERSION}")
    })
}
