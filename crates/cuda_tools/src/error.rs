//! Why a toolchain location was rejected, and what to do if none remains.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::variables::{CARGO, LIBDEVICE, LLVM_BIN, PTXAS, RUSTC};
use crate::{OLDEST_RUSTC, Report, Version, tested};

/// One reason why a location cannot build PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// None of the variables that choose tools is set.
    NotSet,
    /// There is no rustup on the `PATH`.
    NoRustup,
    /// A variable names something that does not exist.
    Variable {
        /// The environment variable.
        variable: &'static str,
        /// Its value.
        path: PathBuf,
    },
    /// A program does not exist.
    NoFile {
        /// The expected path.
        path: PathBuf,
    },
    /// A program cannot be started, or fails.
    DoesNotRun {
        /// The program's path.
        program: PathBuf,
        /// The error of the system or the program.
        message: String,
    },
    /// A program's version text has an unknown form.
    Unreadable {
        /// The program's path.
        program: PathBuf,
        /// The missing item.
        what: &'static str,
    },
    /// The compiler is too old.
    OldRustc {
        /// The compiler.
        rustc: PathBuf,
        /// Its version.
        found: Version,
    },
    /// The compiler has no source of `core`.
    NoSource {
        /// The compiler.
        rustc: PathBuf,
        /// Its version.
        version: Version,
        /// The expected folder of the source.
        folder: PathBuf,
    },
    /// The source of `core` is of another compiler version.
    SourceVersion {
        /// The source's folder.
        folder: PathBuf,
        /// The version of the source.
        found: Version,
        /// The version of the compiler.
        rustc: Version,
    },
    /// No LLVM tools in the folder.
    NoLlvm {
        /// The folder's path.
        folder: PathBuf,
        /// The version of the compiler's LLVM.
        needed: Version,
    },
    /// The LLVM tools cannot read this compiler's bitcode.
    OldLlvm {
        /// The folder's path.
        folder: PathBuf,
        /// The newest set in it.
        found: Version,
        /// The version of the compiler's LLVM.
        needed: Version,
    },
    /// The code generator lacks the target.
    NoNvptx {
        /// The code generator.
        llc: PathBuf,
    },
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSet => write!(f, "not set ({RUSTC}, {CARGO}, {LLVM_BIN})"),
            Self::NoRustup => f.write_str("rustup is not installed"),
            Self::Variable { variable, path } => {
                write!(f, "{variable}={} does not exist", path.display())
            }
            Self::NoFile { path } => write!(f, "{} is not there", path.display()),
            Self::DoesNotRun { program, message } => {
                write!(f, "{} does not run: {message}", program.display())
            }
            Self::Unreadable { program, what } => {
                write!(
                    f,
                    "{} prints no `{what}` that can be read",
                    program.display()
                )
            }
            Self::OldRustc { rustc, found } => write!(
                f,
                "{} is {found}; {OLDEST_RUSTC} or newer is needed",
                rustc.display()
            ),
            Self::NoSource {
                rustc,
                version,
                folder,
            } => write!(
                f,
                "rustc {version} ({}) has no source of core: {} is not there",
                rustc.display(),
                folder.display()
            ),
            Self::SourceVersion {
                folder,
                found,
                rustc,
            } => write!(
                f,
                "the source of core in {} is {found}, but rustc is {rustc}",
                folder.display()
            ),
            Self::NoLlvm { folder, needed } => write!(
                f,
                "no llvm-link, opt and llc in {} (LLVM {needed} or newer is needed)",
                folder.display()
            ),
            Self::OldLlvm {
                folder,
                found,
                needed,
            } => write!(
                f,
                "the LLVM tools in {} are {found}, older than rustc's LLVM {needed}",
                folder.display()
            ),
            Self::NoNvptx { llc } => {
                write!(f, "{} was built without the target nvptx64", llc.display())
            }
        }
    }
}

impl std::error::Error for Rejection {}

/// Errors of finding or fetching a tool.
#[derive(Debug)]
pub enum ToolError {
    /// No location has a complete toolchain.
    NoToolchain {
        /// Every location with the reasons against it.
        report: Report,
    },
    /// No usable `ptxas` on this machine, and none in the cache.
    NoPtxas {
        /// What was tried.
        reason: String,
    },
    /// libdevice is neither on this machine nor in the cache.
    NoLibdevice {
        /// What was tried.
        reason: String,
    },
    /// The assembler rejects a PTX file.
    Refused {
        /// The PTX file.
        file: PathBuf,
        /// The assembler's messages, with line numbers of the file.
        message: String,
    },
    /// There is no Python that can fetch a package.
    NoPip {
        /// The package to fetch.
        package: String,
        /// What was tried.
        reason: String,
    },
    /// pip could not fetch the package.
    Fetch {
        /// The package and its version.
        package: String,
        /// pip's message.
        message: String,
    },
    /// A file or folder of the cache cannot be written.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoToolchain { report } => write!(
                f,
                "no toolchain here can build PTX, which takes {}\n{report}{}",
                tested::advice(),
                report.fix()
            ),
            Self::NoPtxas { reason } => write!(
                f,
                "no ptxas here: {reason}; install a CUDA toolkit and set CUDA_HOME, set {PTXAS} to \
                 the program, or let `blockwise setup --ptxas` (in a checkout: `cargo xtask setup`) \
                 fetch it from PyPI"
            ),
            Self::NoLibdevice { reason } => write!(
                f,
                "no libdevice here: {reason}; install a CUDA toolkit and set CUDA_HOME, set \
                 {LIBDEVICE} to the file libdevice.10.bc, or let `blockwise setup` (in a checkout: \
                 `cargo xtask setup`) fetch it from PyPI"
            ),
            Self::Refused { file, message } => {
                write!(f, "ptxas refuses {}: {message}", file.display())
            }
            Self::NoPip { package, reason } => write!(
                f,
                "{package} cannot be fetched: {reason}; fix: apt-get install \
                 --no-install-recommends python3-pip"
            ),
            Self::Fetch { package, message } => {
                write!(f, "pip did not fetch {package}: {message}")
            }
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
        }
    }
}

impl std::error::Error for ToolError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
