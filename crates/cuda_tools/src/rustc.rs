//! One compiler: its versions, and whether it has the source of `core`.

use std::path::{Path, PathBuf};

use super::machine::{Machine, executable};
use super::{OLDEST_RUSTC, Rejection, Version};

/// A `rustc` that runs, with its `cargo`.
#[derive(Clone, Debug)]
pub(crate) struct Compiler {
    pub(crate) cargo: PathBuf,
    pub(crate) rustc: PathBuf,
    pub(crate) sysroot: PathBuf,
    pub(crate) version: Version,
    pub(crate) llvm: Version,
    pub(crate) host: String,
}

impl Compiler {
    /// Queries `rustc` for its versions.
    pub(crate) fn examine(
        machine: &dyn Machine,
        rustc: PathBuf,
        cargo: PathBuf,
    ) -> Result<Self, Rejection> {
        for program in [&rustc, &cargo] {
            if !program.is_file() {
                return Err(Rejection::NoFile {
                    path: program.clone(),
                });
            }
        }
        let ask = |arguments: &[&str]| {
            machine
                .output(&rustc, arguments)
                .map_err(|source| Rejection::DoesNotRun {
                    program: rustc.clone(),
                    message: source.to_string(),
                })
        };
        let text = ask(&["-vV"])?;
        let field = |name: &'static str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
                .map(str::trim)
                .ok_or(Rejection::Unreadable {
                    program: rustc.clone(),
                    what: name,
                })
        };
        let number = |name| {
            field(name).and_then(|text| {
                Version::parse(text).ok_or(Rejection::Unreadable {
                    program: rustc.clone(),
                    what: name,
                })
            })
        };
        let version = number("release")?;
        if version < OLDEST_RUSTC {
            return Err(Rejection::OldRustc {
                rustc,
                found: version,
            });
        }
        let (llvm, host) = (number("LLVM version")?, field("host")?.to_owned());
        let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?.trim());
        Ok(Self {
            cargo,
            sysroot,
            version,
            llvm,
            host,
            rustc,
        })
    }

    /// The folder of the programs in rustup's component llvm-tools.
    pub(crate) fn llvm_tools(&self) -> PathBuf {
        self.sysroot
            .join("lib/rustlib")
            .join(&self.host)
            .join("bin")
    }

    /// The folder that the compiler's source is in, if it is installed.
    pub(crate) fn source(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib/src/rust")
    }

    /// Checks that the source of `core` exists and has this compiler's version.
    pub(crate) fn check_source(&self) -> Result<(), Rejection> {
        let source = self.source();
        if !source.join("library/core/src/lib.rs").is_file() {
            return Err(Rejection::NoSource {
                rustc: self.rustc.clone(),
                version: self.version,
                folder: source.join("library"),
            });
        }
        match source_version(&source) {
            Some(found) if found != self.version => Err(Rejection::SourceVersion {
                folder: source,
                found,
                rustc: self.version,
            }),
            _ => Ok(()),
        }
    }
}

/// The version recorded in a source tree. rustup's component has none: it is inside the toolchain
/// that it was installed with. Debian's is a separate package, linked into the sysroot, and has the
/// file.
fn source_version(source: &Path) -> Option<Version> {
    Version::parse(&std::fs::read_to_string(source.join("src/version")).ok()?)
}

/// The program called `name` in the same folder as `other`.
pub(crate) fn beside(other: &Path, name: &str) -> PathBuf {
    other.with_file_name(executable(name))
}
