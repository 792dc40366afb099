//! NVIDIA's assembler, which checks PTX and reports what each kernel uses. No GPU is needed to run it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::machine::{Host, Machine, executable};
use super::search::on_path;
use super::wheel::Wheel;
use super::{Rejection, ToolError, Version, variables};

/// The wheel that brings `ptxas` to a machine without a CUDA toolkit (47 MB).
pub const WHEEL: Wheel = Wheel {
    package: "nvidia-cuda-nvcc",
    version: "13.5.37",
    file: "nvidia/cu13/bin/ptxas",
};

/// A `ptxas` that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptxas {
    /// The program.
    pub path: PathBuf,
    /// The CUDA release it belongs to.
    pub version: Version,
}

impl Ptxas {
    /// Looks for `ptxas`: the variable [`variables::PTXAS`], the toolkit in `CUDA_HOME` or `CUDA_PATH`, the `PATH`,
    /// `/usr/local/cuda`, and last the wheel in `cache`, if an earlier call of [`Ptxas::find_or_fetch`] put it there.
    ///
    /// # Errors
    /// [`ToolError::NoPtxas`].
    pub fn find(cache: &Path) -> Result<Self, ToolError> {
        find(&Host, cache)
    }

    /// Like [`Ptxas::find`], but fetches the wheel into `cache` when nothing is there.
    ///
    /// # Errors
    /// [`ToolError::NoPtxas`] when [`variables::PTXAS`] names a program that does not do, or the fetched one does not
    /// run here; else those of [`Wheel::fetch`].
    pub fn find_or_fetch(cache: &Path) -> Result<Self, ToolError> {
        if let Ok(found) = Self::find(cache) {
            return Ok(found);
        }
        // A program chosen by hand is never replaced behind the user's back.
        if Host.variable(variables::PTXAS).is_none() {
            WHEEL.fetch(cache)?;
        }
        Self::find(cache)
    }

    /// Assembles `ptx` for `arch` (`sm_80`), throws the machine code away and returns what `ptxas -v` said.
    ///
    /// # Errors
    /// Only when the program cannot be started; a refused PTX shows in [`Output::status`].
    pub fn check(&self, ptx: &Path, arch: &str) -> Result<Output, ToolError> {
        Command::new(&self.path)
            .arg(format!("-arch={arch}"))
            .args(["-v", "-o", if cfg!(windows) { "NUL" } else { "/dev/null" }])
            .arg(ptx)
            .stdin(Stdio::null())
            .output()
            .map_err(|source| ToolError::Io {
                path: self.path.clone(),
                source,
            })
    }
}

pub(super) fn find(machine: &dyn Machine, cache: &Path) -> Result<Ptxas, ToolError> {
    let name = executable("ptxas");
    if let Some(path) = machine.variable(variables::PTXAS).map(PathBuf::from) {
        return examine(machine, path).map_err(|reason| ToolError::NoPtxas {
            reason: format!("{}: {reason}", variables::PTXAS),
        });
    }
    let toolkits = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(|variable| machine.variable(variable).map(PathBuf::from));
    let usual = machine.root().join("usr/local/cuda");
    let places = toolkits
        .map(|toolkit| toolkit.join("bin").join(&name))
        .chain(on_path(machine, "ptxas"))
        .chain([usual.join("bin").join(&name)])
        .chain(WHEEL.cached(cache))
        .filter(|path| path.is_file());
    let mut reason =
        "none in CUDA_HOME, CUDA_PATH, PATH and /usr/local/cuda, and none fetched yet".to_owned();
    for path in places {
        match examine(machine, path) {
            Ok(found) => return Ok(found),
            Err(rejection) => reason = rejection.to_string(),
        }
    }
    Err(ToolError::NoPtxas { reason })
}

fn examine(machine: &dyn Machine, path: PathBuf) -> Result<Ptxas, Rejection> {
    if !path.is_file() {
        return Err(Rejection::NoFile { path });
    }
    let text = machine
        .output(&path, &["--version"])
        .map_err(|source| Rejection::DoesNotRun {
            program: path.clone(),
            message: source.to_string(),
        })?;
    // "Cuda compilation tools, release 13.0, V13.0.88"
    let version = text
        .lines()
        .find_map(|line| Version::parse(line.rsplit_once(", V")?.1));
    version
        .map(|version| Ptxas {
            path: path.clone(),
            version,
        })
        .ok_or(Rejection::Unreadable {
            program: path,
            what: "release",
        })
}
