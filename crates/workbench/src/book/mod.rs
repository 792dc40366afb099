//! `cargo xtask book`: builds the book from sources that the tests compile and from outputs of
//! commands.

mod cut;
mod list;
mod mdbook;
mod options;
mod outputs;
mod pages;
#[cfg(test)]
mod readme;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::{build_ptx, setup, workspace};

/// Makes the outputs that the pages show, checks the pages, and builds the book.
pub(crate) fn run() -> Result<ExitCode> {
    setup::toolchain()?;
    let (program, _) = workspace::step("outputs", || {
        build_ptx::broken_kernels()?;
        let program = workspace::program()?;
        outputs::write(&program)?;
        Ok(program)
    })?;
    workspace::step("pages", || pages::check(&folder()))?;
    let into = workspace::target()?.join("book");
    workspace::step("book", || {
        let mut build = Command::new(mdbook::program()?);
        build.arg("build").arg(folder());
        workspace::check(build.arg("--dest-dir").arg(&into))?;
        // After mdBook, which empties the folder.
        outputs::write_traces(&program, &into.join("traces"))
    })?;
    say!("{}", into.join("index.html").display());
    Ok(ExitCode::SUCCESS)
}

/// The book's folder.
fn folder() -> PathBuf {
    workspace::root().join("docs/book")
}
