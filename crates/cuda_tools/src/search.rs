//! The three locations, in order.

use std::fmt;
use std::path::{Path, PathBuf};

use super::llvm::LlvmTools;
use super::machine::{Machine, executable};
use super::rustc::{Compiler, beside};
use super::variables::{CARGO, LLVM_BIN, RUSTC};
use super::{DEBIAN_PACKAGES, Origin, RUSTUP_COMPONENTS, Rejection, ToolError, Toolchain};

/// A location and the result of searching it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The place.
    pub origin: Origin,
    /// A complete toolchain, or every reason against it.
    pub verdict: Result<Toolchain, Vec<Rejection>>,
}

/// All locations, in order of precedence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The environment, rustup, the system's packages.
    pub candidates: Vec<Candidate>,
}

impl Report {
    /// The toolchain that a build uses.
    ///
    /// # Errors
    /// [`ToolError::NoToolchain`] if no location is complete, or if the environment chooses
    /// unusable tools.
    pub fn into_toolchain(self) -> Result<Toolchain, ToolError> {
        self.chosen()
            .cloned()
            .ok_or(ToolError::NoToolchain { report: self })
    }

    /// The toolchain that a build uses, if there is one.
    pub fn chosen(&self) -> Option<&Toolchain> {
        let places = if self.environment_is_set() {
            1
        } else {
            self.candidates.len()
        };
        self.candidates[..places]
            .iter()
            .find_map(|candidate| candidate.verdict.as_ref().ok())
    }

    /// The commands that complete a location, or the advice to correct a variable.
    pub fn fix(&self) -> String {
        if self.environment_is_set() {
            return "fix: correct or unset the variable; it is never passed over".to_owned();
        }
        let has_rustup = self.candidates.iter().all(|candidate| {
            let reasons = candidate.verdict.as_ref().err();
            !reasons.is_some_and(|reasons| reasons.contains(&Rejection::NoRustup))
        });
        let rustup = if has_rustup {
            ""
        } else {
            "     once there is rustup: https://rustup.rs"
        };
        format!(
            "fix, one of:\n  rustup component add {}{rustup}\n  apt-get install --no-install-recommends {}\n\
             or: blockwise setup (in a checkout of Blockwise: cargo xtask setup)",
            RUSTUP_COMPONENTS.join(" "),
            DEBIAN_PACKAGES.join(" "),
        )
    }

    /// Whether variables choose tools. Then no other location counts: silently building with other
    /// tools than requested would be worse than an error.
    pub fn environment_is_set(&self) -> bool {
        self.candidates
            .first()
            .is_some_and(|candidate| match &candidate.verdict {
                Ok(_) => true,
                Err(reasons) => reasons != &[Rejection::NotSet],
            })
    }
}

impl fmt::Display for Report {
    /// One line for each complete location, and one for each reason against an incomplete one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Candidate { origin, verdict } in &self.candidates {
            match verdict {
                Ok(toolchain) => writeln!(f, "  {origin}: {toolchain}")?,
                Err(reasons) => reasons
                    .iter()
                    .try_for_each(|reason| writeln!(f, "  {origin}: {reason}"))?,
            }
        }
        Ok(())
    }
}

/// Searches every location on `machine`.
pub(crate) fn search(machine: &dyn Machine) -> Report {
    let places = [
        (Origin::Environment, environment as fn(&dyn Machine) -> _),
        (Origin::Rustup, rustup),
        (Origin::System, system),
    ];
    let candidates = places.map(|(origin, look)| Candidate {
        origin,
        verdict: look(machine).map(|parts| parts.toolchain(origin)),
    });
    Report {
        candidates: candidates.into(),
    }
}

/// A compiler and matching LLVM tools.
struct Parts {
    compiler: Compiler,
    llvm: LlvmTools,
}

impl Parts {
    /// Checks both parts, so that everything missing is reported together.
    fn check(
        compiler: Compiler,
        llvm: Result<LlvmTools, Rejection>,
    ) -> Result<Self, Vec<Rejection>> {
        match (compiler.check_source(), llvm) {
            (Ok(()), Ok(llvm)) => Ok(Self { compiler, llvm }),
            (source, llvm) => Err(source.err().into_iter().chain(llvm.err()).collect()),
        }
    }

    fn toolchain(self, origin: Origin) -> Toolchain {
        let Self { compiler, llvm } = self;
        Toolchain {
            library: compiler.source().join("library"),
            cargo: compiler.cargo,
            rustc: compiler.rustc,
            rustc_version: compiler.version,
            host: compiler.host,
            llvm_version: llvm.version,
            llvm_link: llvm.llvm_link,
            opt: llvm.opt,
            llc: llvm.llc,
            origin,
        }
    }
}

/// The tools that variables name. If no compiler is named, that of rustup, or else the system, with
/// its source; if no LLVM tools are named, the compiler's own, or else the system's.
fn environment(machine: &dyn Machine) -> Result<Parts, Vec<Rejection>> {
    let [rustc, cargo, llvm_bin] = [RUSTC, CARGO, LLVM_BIN].map(|variable| {
        let Some(path) = machine.variable(variable).map(PathBuf::from) else {
            return Ok(None);
        };
        // Programs are called from other folders.
        let path = std::path::absolute(&path).unwrap_or(path);
        if path.exists() {
            Ok(Some(path))
        } else {
            Err(Rejection::Variable { variable, path })
        }
    });
    let missing: Vec<_> = [&rustc, &cargo, &llvm_bin]
        .into_iter()
        .filter_map(|value| value.as_ref().err().cloned())
        .collect();
    let (Ok(rustc), Ok(cargo), Ok(llvm_bin)) = (rustc, cargo, llvm_bin) else {
        return Err(missing);
    };

    let compiler = match (rustc, cargo, &llvm_bin) {
        (None, None, None) => return Err(vec![Rejection::NotSet]),
        (Some(rustc), Some(cargo), _) => Compiler::examine(machine, rustc, cargo),
        (Some(rustc), None, _) => {
            Compiler::examine(machine, rustc.clone(), beside(&rustc, "cargo"))
        }
        (None, Some(cargo), _) => Compiler::examine(machine, beside(&cargo, "rustc"), cargo),
        (None, None, Some(_)) => {
            let with_source = |compiler: &Compiler| compiler.check_source().is_ok();
            rustup_compiler(machine)
                .ok()
                .filter(with_source)
                .map_or_else(|| system_compiler(machine), Ok)
        }
    }
    .map_err(|reason| vec![reason])?;
    let llvm = match llvm_bin {
        Some(folder) => LlvmTools::choose(machine, &folder, compiler.llvm),
        None => LlvmTools::choose(machine, &compiler.llvm_tools(), compiler.llvm)
            .or_else(|_| LlvmTools::choose(machine, &system_bin(machine), compiler.llvm)),
    };
    Parts::check(compiler, llvm)
}

/// The active rustup toolchain with its own components.
fn rustup(machine: &dyn Machine) -> Result<Parts, Vec<Rejection>> {
    let compiler = rustup_compiler(machine).map_err(|reason| vec![reason])?;
    let llvm = LlvmTools::choose(machine, &compiler.llvm_tools(), compiler.llvm);
    Parts::check(compiler, llvm)
}

/// The system's packages.
fn system(machine: &dyn Machine) -> Result<Parts, Vec<Rejection>> {
    let compiler = system_compiler(machine).map_err(|reason| vec![reason])?;
    let llvm = LlvmTools::choose(machine, &system_bin(machine), compiler.llvm);
    Parts::check(compiler, llvm)
}

/// rustup knows the active toolchain: set by variable, `rust-toolchain.toml` or default.
fn rustup_compiler(machine: &dyn Machine) -> Result<Compiler, Rejection> {
    let rustup = on_path(machine, "rustup").ok_or(Rejection::NoRustup)?;
    let rustc = machine
        .output(&rustup, &["which", "rustc"])
        .map_err(|source| Rejection::DoesNotRun {
            program: rustup,
            message: source.to_string(),
        })?;
    let rustc = PathBuf::from(rustc.trim());
    Compiler::examine(machine, rustc.clone(), beside(&rustc, "cargo"))
}

fn system_compiler(machine: &dyn Machine) -> Result<Compiler, Rejection> {
    let bin = system_bin(machine);
    Compiler::examine(
        machine,
        bin.join(executable("rustc")),
        bin.join(executable("cargo")),
    )
}

fn system_bin(machine: &dyn Machine) -> PathBuf {
    machine.root().join("usr/bin")
}

/// The first program of that name on the `PATH`.
pub(crate) fn on_path(machine: &dyn Machine, name: &str) -> Option<PathBuf> {
    let path = machine.variable("PATH")?;
    std::env::split_paths(&path)
        .map(|folder: PathBuf| folder.join(executable(name)))
        .find(|file: &PathBuf| Path::is_file(file))
}

#[cfg(test)]
mod tests;
