//! Creates projects: [`New`] a new one, [`Init`] adds a kernel to an existing one.
//!
//! Both are also command-line arguments: of `blockwise new`, `blockwise init` and `cargo xtask
//! new`, the quick way from a fresh checkout. A project is one crate for host and device. Its files
//! are in `template/`, or with the book's exercises in `exercises/`, exactly as written except for
//! the placeholders `my-project`, `my_project` and `CHECKOUT`.

mod checkout;
mod error;
mod exercises;
mod from_rust_cuda;
mod init;
mod items;
mod manifest;
mod name;
mod new;
mod reuse;
mod workspace;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use checkout::Checkout;
use cuda_tools::Toolchain;
pub use error::Error;
pub use from_rust_cuda::FromRustCuda;
pub use init::Init;
pub use new::New;

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
    /// The Blockwise checkout that it uses.
    pub blockwise: PathBuf,
    /// Files that were created or changed.
    pub files: Vec<PathBuf>,
}

/// A template with its placeholders filled in.
fn filled(template: &str, name: &str, checkout: &Checkout) -> String {
    template
        .replace("my-project", name)
        .replace("my_project", &name::in_code(name))
        .replace("CHECKOUT", checkout.path())
}

/// Writes a file that does not exist yet.
fn create(path: &Path, text: &str) -> Result<(), Error> {
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::File::create_new(path))
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| Error::io("cannot write", path, error))
}

/// What the machine lacks for compiling kernels, with the commands that install it.
fn missing_tools() -> Option<String> {
    let error = Toolchain::find().err()?;
    Some(format!("\n\nbefore the first build: {error}"))
}
