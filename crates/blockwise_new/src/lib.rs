//! Creates projects: [`New`] a new one, [`Init`] adds a kernel to an existing one. [`Exercise`] makes
//! the project of the book's exercises and runs their tests.
//!
//! All are also command-line arguments: of `blockwise new`, `blockwise init`, `blockwise exercise`,
//! and of `cargo xtask new` and `exercise`, the quick way from a fresh checkout. A project is one crate for host and device. Its files
//! are in `template/`, or with the book's exercises in `exercises/`, exactly as written except for
//! the placeholders `my-project` and `my_project`, and for `CHECKOUT`, in whose place stands where
//! the project finds Blockwise.

mod address;
mod error;
mod exercise;
mod exercises;
mod from_rust_cuda;
mod init;
mod items;
mod manifest;
mod name;
mod new;
mod patch;
mod reuse;
mod source;
mod stub;
mod toolchain;
mod workspace;
mod write;

use std::path::PathBuf;

use cuda_tools::Toolchain;
pub use error::Error;
pub use exercise::{Exercise, Tested};
pub use from_rust_cuda::FromRustCuda;
pub use init::Init;
pub use new::New;
pub use patch::{MissingPatch, missing_patch};
use source::Source;
pub use source::{Given, IS_PACKAGED, commit, installed_from};
pub use stub::no_toolkit;

const BUILD_SCRIPT: &str = include_str!("../template/build.rs");
const KERNELS: &str = include_str!("../template/src/kernels.rs");
const TESTS: &str = include_str!("../template/tests/kernels.rs");

/// What was done.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// What was done, and what to do next, for the user.
    pub text: String,
    /// The package's folder.
    pub folder: PathBuf,
    /// The package's name.
    pub package: String,
    /// The Blockwise that it uses: a repository and what is taken of it, or a checkout's path.
    pub blockwise: String,
    /// Files that were created or changed.
    pub files: Vec<PathBuf>,
}

/// A path as a shell reads it.
fn quoted(path: &str) -> String {
    match path.contains(|c: char| c.is_whitespace() || "'\"$&;()*".contains(c)) {
        true => format!("'{}'", path.replace('\'', "'\\''")),
        false => path.to_owned(),
    }
}

/// A template with its placeholders filled in.
fn filled(template: &str, name: &str, source: &Source) -> String {
    let text = template
        .replace("my-project", name)
        .replace("my_project", &name::in_code(name));
    source.fill(&text)
}

/// What the machine lacks for compiling kernels, with the commands that install it.
fn missing_tools() -> Option<String> {
    let error = Toolchain::find().err()?;
    Some(format!("\n\nbefore the first build: {error}"))
}
