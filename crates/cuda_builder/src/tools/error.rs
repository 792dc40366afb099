//! Why a toolchain location was rejected, and what to do if none remains.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::{OLDEST_RUSTC, Report, Version};

/// One reason why a location cannot build PTX.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Rejection {
    /// None of the variables that choose tools is set.
    #[error(
        "not set ({}, {}, {})",
        super::variables::RUSTC,
        super::variables::CARGO,
        super::variables::LLVM_BIN
    )]
    NotSet,
    /// There is no rustup on the `PATH`.
    #[error("rustup is not installed")]
    NoRustup,
    /// A variable names something that does not exist.
    #[error("{variable}={} does not exist", path.display())]
    Variable {
        /// The environment variable.
        variable: &'static str,
        /// Its value.
        path: PathBuf,
    },
    /// A program does not exist.
    #[error("{} is not there", path.display())]
    NoFile {
        /// The expected path.
        path: PathBuf,
    },
    /// A program cannot be started, or fails.
    #[error("{} does not run: {message}", program.display())]
    DoesNotRun {
        /// The program.
        program: PathBuf,
        /// The error of the system or the program.
        message: String,
    },
    /// A program's version text has an unknown form.
    #[error("{} prints no `{what}` that can be read", program.display())]
    Unreadable {
        /// The program.
        program: PathBuf,
        /// The missing item.
        what: &'static str,
    },
    /// The compiler is too old.
    #[error("{} is {found}; {OLDEST_RUSTC} or newer is needed", rustc.display())]
    OldRustc {
        /// The compiler.
        rustc: PathBuf,
        /// Its version.
        found: Version,
    },
    /// The compiler has no source of `core`.
    #[error("rustc {version} ({}) has no source of core: {} is not there", rustc.display(), folder.display())]
    NoSource {
        /// The compiler.
        rustc: PathBuf,
        /// Its version.
        version: Version,
        /// The expected folder of the source.
        folder: PathBuf,
    },
    /// The source of `core` is of another compiler version.
    #[error("the source of core in {} is {found}, but rustc is {rustc}", folder.display())]
    SourceVersion {
        /// The source's folder.
        folder: PathBuf,
        /// The version of the source.
        found: Version,
        /// The version of the compiler.
        rustc: Version,
    },
    /// No LLVM tools in the folder.
    #[error("no llvm-link, opt and llc in {} (LLVM {needed} or newer is needed)", folder.display())]
    NoLlvm {
        /// The folder.
        folder: PathBuf,
        /// The version of the compiler's LLVM.
        needed: Version,
    },
    /// The LLVM tools cannot read this compiler's bitcode.
    #[error("the LLVM tools in {} are {found}, older than rustc's LLVM {needed}", folder.display())]
    OldLlvm {
        /// The folder.
        folder: PathBuf,
        /// The newest set in it.
        found: Version,
        /// The version of the compiler's LLVM.
        needed: Version,
    },
    /// The code generator lacks the target.
    #[error("{} was built without the target nvptx64", llc.display())]
    NoNvptx {
        /// The code generator.
        llc: PathBuf,
    },
}

/// Errors of finding or fetching a tool.
#[derive(Debug, Error)]
pub enum ToolError {
    /// No location has a complete toolchain.
    #[error("no toolchain here can build PTX\n{report}{}", report.fix())]
    NoToolchain {
        /// Every location with the reasons against it.
        report: Report,
    },
    /// No usable `ptxas` on this machine, and none in the cache.
    #[error(
        "no ptxas here: {reason}; install a CUDA toolkit and set CUDA_HOME, set {} to the program, \
         or let `cargo xtask setup` fetch it from PyPI",
        super::variables::PTXAS
    )]
    NoPtxas {
        /// What was tried.
        reason: String,
    },
    /// libdevice is neither on this machine nor in the cache.
    #[error(
        "no libdevice here: {reason}; install a CUDA toolkit and set CUDA_HOME, set {} to the file libdevice.10.bc, or let \
         `cargo xtask setup` fetch it from PyPI",
        super::variables::LIBDEVICE
    )]
    NoLibdevice {
        /// What was tried.
        reason: String,
    },
    /// The assembler rejects a PTX file.
    #[error("ptxas refuses {}: {message}", file.display())]
    Refused {
        /// The PTX file.
        file: PathBuf,
        /// The assembler's messages, with line numbers of the file.
        message: String,
    },
    /// There is no Python that can fetch a package.
    #[error(
        "{package} cannot be fetched: {reason}; fix: apt-get install --no-install-recommends python3-pip"
    )]
    NoPip {
        /// The package to fetch.
        package: String,
        /// What was tried.
        reason: String,
    },
    /// pip could not fetch the package.
    #[error("pip did not fetch {package}: {message}")]
    Fetch {
        /// The package and its version.
        package: String,
        /// pip's message.
        message: String,
    },
    /// A file or folder of the cache cannot be written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}
