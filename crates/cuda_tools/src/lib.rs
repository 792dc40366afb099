//! Finds the programs that compile Rust to PTX, and says how to install missing ones.
//!
//! A PTX build needs a `rustc` with the source of `core`, its `cargo`, and LLVM's `llvm-link`,
//! `opt` and `llc`. Three locations are tried, in this order:
//!
//! 1. **The environment**: [`BLOCKWISE_RUSTC`](variables::RUSTC),
//!    [`BLOCKWISE_CARGO`](variables::CARGO), [`BLOCKWISE_LLVM_BIN`](variables::LLVM_BIN). A
//!    variable that is set but unusable is an error.
//! 2. **rustup**: the active toolchain, if it has the components rust-src and llvm-tools.
//! 3. **The system's packages** in `/usr/bin`: Debian's `rustc-web cargo-web rust-web-src llvm-22`.
//!
//! Two rules apply everywhere: `rustc` and the source of `core` have the same version, and the LLVM
//! tools are not older than rustc's LLVM. A location that breaks a rule is kept in the [`Report`]
//! with every reason.

pub mod cache;
pub mod doctor;
mod error;
pub mod gpu;
pub mod install;
pub mod libdevice;
mod llvm;
mod machine;
pub mod nccl;
pub mod nvdisasm;
pub mod ptxas;
mod rustc;
pub mod rustup;
mod search;
pub mod setup;
pub mod tested;
mod version;
pub mod wheel;

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;

pub use error::{Rejection, ToolError};
pub use ptxas::Ptxas;
pub use search::{Candidate, Report};
pub use version::Version;

/// The environment variables that choose tools.
pub mod variables {
    /// Path of the `rustc` to use. Its `cargo` is expected in the same folder.
    pub const RUSTC: &str = "BLOCKWISE_RUSTC";
    /// Path of the `cargo` to use. Its `rustc` is expected in the same folder.
    pub const CARGO: &str = "BLOCKWISE_CARGO";
    /// Folder with `llvm-link`, `opt` and `llc`, with or without a suffix `-22`.
    pub const LLVM_BIN: &str = "BLOCKWISE_LLVM_BIN";
    /// Path of the `ptxas` to use.
    pub const PTXAS: &str = "BLOCKWISE_PTXAS";
    /// Path of the `libdevice.10.bc` to use.
    pub const LIBDEVICE: &str = "BLOCKWISE_LIBDEVICE";
}

/// The packages of Debian 12 and 13 that make up a toolchain.
pub const DEBIAN_PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "llvm-22"];

/// The rustup components that a default installation lacks.
pub const RUSTUP_COMPONENTS: [&str; 2] = ["rust-src", "llvm-tools"];

/// The oldest `rustc` whose output this crate can lower.
pub const OLDEST_RUSTC: Version = Version::new(1, 95, 0);

/// Where a toolchain was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Chosen by the environment variables in [`variables`].
    Environment,
    /// The active rustup toolchain.
    Rustup,
    /// The system's packages in `/usr/bin`.
    System,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Environment => "environment",
            Origin::Rustup => "rustup",
            Origin::System => "system packages",
        })
    }
}

/// A complete set of programs for a PTX build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// The `cargo` that belongs to `rustc`. Call it through [`Toolchain::command`].
    pub cargo: PathBuf,
    /// The compiler itself, never rustup's proxy.
    pub rustc: PathBuf,
    /// Version of `rustc` and of its source of `core`.
    pub rustc_version: Version,
    /// The folder of that source, with `core`, `alloc` and the others in it.
    pub library: PathBuf,
    /// Target triple of the machine that compiles, as `rustc` names it.
    pub host: String,
    /// Version of the three LLVM tools.
    pub llvm_version: Version,
    /// LLVM's bitcode linker.
    pub llvm_link: PathBuf,
    /// LLVM's optimiser.
    pub opt: PathBuf,
    /// LLVM's code generator.
    pub llc: PathBuf,
    /// The location that it was found in.
    pub origin: Origin,
}

impl Toolchain {
    /// The first complete toolchain, in the order given in this module's documentation.
    ///
    /// # Errors
    /// [`ToolError::NoToolchain`] with the reasons against every location and the commands that fix
    /// them.
    pub fn find() -> Result<Self, ToolError> {
        Self::search().into_toolchain()
    }

    /// Examines every location, even after a usable one. For `doctor`. Waits for an installation
    /// that is running in another process.
    pub fn search() -> Report {
        install::wait();
        search::search(&machine::Host)
    }

    /// `cargo` in an environment that no other toolchain affects.
    ///
    /// This program may itself run below a `cargo` of another toolchain (`cargo xtask`, a build
    /// script), which sets variables for its own compiler, flags, wrappers and target folder; they
    /// are removed. `RUSTC` is set, so that `cargo` does not use the first `rustc` on the `PATH`.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.cargo);
        for name in leaked_variables(std::env::vars_os().map(|(name, _)| name)) {
            command.env_remove(name);
        }
        command.env("RUSTC", &self.rustc);
        command
    }
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "rustc {} ({}) with LLVM tools {} ({})",
            self.rustc_version,
            self.rustc.display(),
            self.llvm_version,
            self.llc.display()
        )
    }
}

/// Variables set by an outer cargo, rustup or build script that would affect a cargo started from
/// there.
fn leaked_variables(names: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    const NAMES: [&str; 21] = [
        "CARGO",
        "CARGO_CRATE_NAME",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_INCREMENTAL",
        "CARGO_MAKEFLAGS",
        "CARGO_PRIMARY_PACKAGE",
        "DEBUG",
        "HOST",
        "MAKEFLAGS",
        "NUM_JOBS",
        "OPT_LEVEL",
        "OUT_DIR",
        "PROFILE",
        "RUSTC",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_WRAPPER",
        "RUSTDOC",
        "RUSTFLAGS",
        "RUSTUP_TOOLCHAIN",
        "RUST_RECURSION_COUNT",
        "TARGET",
    ];
    const PREFIXES: [&str; 9] = [
        "CARGO_BIN_",
        "CARGO_BUILD_",
        "CARGO_CFG_",
        "CARGO_FEATURE_",
        "CARGO_MANIFEST_",
        "CARGO_PKG_",
        "CARGO_PROFILE_",
        "CARGO_TARGET_",
        "CARGO_UNSTABLE_",
    ];
    names.filter(|name| {
        name.to_str().is_some_and(|name| {
            NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_leaked(name: &str, leaked: bool) {
        assert_eq!(
            leaked_variables(std::iter::once(name.into())).count(),
            usize::from(leaked),
            "{name}"
        );
    }

    #[test]
    fn what_chooses_another_toolchain_is_taken_out() {
        for name in [
            "RUSTUP_TOOLCHAIN",
            "CARGO",
            "RUSTC",
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "RUSTC_WORKSPACE_WRAPPER",
        ] {
            check_leaked(name, true);
        }
        for name in [
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_TARGET",
            "CARGO_PKG_NAME",
            "CARGO_CFG_TARGET_ARCH",
            "CARGO_PROFILE_RELEASE_LTO",
            "CARGO_UNSTABLE_BUILD_STD",
        ] {
            check_leaked(name, true);
        }
    }

    #[test]
    fn what_reaches_the_network_and_the_caches_stays() {
        for name in [
            "CARGO_HOME",
            "RUSTUP_HOME",
            "CARGO_HTTP_CAINFO",
            "CARGO_NET_OFFLINE",
            "CARGO_REGISTRIES_X_INDEX",
            "PATH",
            "HOME",
        ] {
            check_leaked(name, false);
        }
    }
}
