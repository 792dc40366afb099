//! NVIDIA's assembler, which verifies PTX and reports each kernel's resources. It needs no GPU.

mod usage;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::machine::{Host, Machine, executable};
use super::search::on_path;
use super::wheel::Wheel;
use super::{Rejection, ToolError, Version, variables};

pub use usage::Usage;

/// The wheel that provides `ptxas` without a CUDA toolkit (47 MB).
pub const WHEEL: Wheel = Wheel {
    package: "nvidia-cuda-nvcc",
    version: "13.5.37",
    sha256: &[
        "f5c4f7ead5d964fb4af42bbf1e6d3ec3c1e6e9d83b53749f691d387e7fcaa3a7", // Linux, x86-64
        "588eda18eb5076ae859fe272844b526459228af22df0b117f54eec3aa82bc9c8", // Linux, aarch64
        "2e33114ed3109eabfaa820cf8ddd534d0b98c47065f8390a56e6eaae04dcca31", // Windows
    ],
    file: "nvidia/cu13/bin/ptxas",
};

/// Where machine code goes that is not kept.
const NOWHERE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// A `ptxas` that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ptxas {
    /// The program's path.
    pub path: PathBuf,
    /// The CUDA release that it belongs to.
    pub version: Version,
}

impl Ptxas {
    /// Finds `ptxas`: in the variable [`variables::PTXAS`], the toolkit in `CUDA_HOME` or
    /// `CUDA_PATH`, the `PATH`, `/usr/local/cuda`, or the wheel in `cache` or the user's cache, if
    /// [`Ptxas::find_or_fetch`] or `blockwise setup` put it there.
    ///
    /// # Errors
    /// [`ToolError::NoPtxas`].
    pub fn find(cache: &Path) -> Result<Self, ToolError> {
        find(&Host, cache)
    }

    /// Like [`Ptxas::find`], but fetches the wheel into `cache` if nothing is found.
    ///
    /// # Errors
    /// [`ToolError::NoPtxas`] if [`variables::PTXAS`] names an unusable program, or the fetched one
    /// does not run here; otherwise those of [`Wheel::fetch`].
    pub fn find_or_fetch(cache: &Path) -> Result<Self, ToolError> {
        if let Ok(found) = Self::find(cache) {
            return Ok(found);
        }
        // A program chosen by the user is never replaced silently.
        if Host.variable(variables::PTXAS).is_none() {
            WHEEL.fetch(cache)?;
        }
        Self::find(cache)
    }

    /// Assembles the PTX in `file` for its own target, discards the machine code, and returns the
    /// resources of each kernel.
    ///
    /// # Errors
    /// [`ToolError::Refused`] with the assembler's messages, or if the file names no target;
    /// [`ToolError::Io`] if it cannot be read.
    pub fn verify(&self, file: &Path) -> Result<Vec<Usage>, ToolError> {
        let ptx = std::fs::read_to_string(file).map_err(|source| ToolError::Io {
            path: file.to_owned(),
            source,
        })?;
        let target = target(&ptx).ok_or_else(|| ToolError::Refused {
            file: file.to_owned(),
            message: "it has no line `.target sm_XX`".to_owned(),
        })?;
        self.assemble(file, target, &[], Path::new(NOWHERE))
    }

    /// The resources of one kernel of the PTX in `file` on the architecture `arch`, such as
    /// `sm_90`: the driver compiles for the GPU present, which may be newer than the PTX's target.
    ///
    /// # Errors
    /// [`ToolError::Refused`] with the assembler's messages, or if there is no such kernel.
    pub fn usage(&self, file: &Path, arch: &str, kernel: &str) -> Result<Usage, ToolError> {
        let kernels = self.assemble(file, arch, &["--entry", kernel], Path::new(NOWHERE))?;
        let usage = kernels.into_iter().find(|usage| usage.kernel == kernel);
        usage.ok_or_else(|| ToolError::Refused {
            file: file.to_owned(),
            message: format!("it has no kernel `{kernel}`"),
        })
    }

    /// Writes the machine code of some kernels of the PTX in `file` for the architecture `arch` to
    /// the file `cubin`.
    ///
    /// # Errors
    /// [`ToolError::Refused`] with the assembler's messages, or if a kernel does not exist.
    pub fn machine_code(
        &self,
        file: &Path,
        arch: &str,
        kernels: &[&str],
        cubin: &Path,
    ) -> Result<(), ToolError> {
        self.assemble(file, arch, &["--entry", &kernels.join(",")], cubin)?;
        Ok(())
    }

    fn assemble(
        &self,
        file: &Path,
        arch: &str,
        options: &[&str],
        cubin: &Path,
    ) -> Result<Vec<Usage>, ToolError> {
        let output = Command::new(&self.path)
            .arg(format!("-arch={arch}"))
            .args(options)
            .args(["-v", "-o"])
            .args([cubin, file])
            .stdin(Stdio::null())
            .output()
            .map_err(|source| ToolError::Io {
                path: self.path.clone(),
                source,
            })?;
        let report = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            Ok(Usage::parse(&report))
        } else {
            Err(ToolError::Refused {
                file: file.to_owned(),
                message: report.trim().to_owned(),
            })
        }
    }
}

pub(crate) fn find(machine: &dyn Machine, cache: &Path) -> Result<Ptxas, ToolError> {
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
        .chain(WHEEL.found_on(machine, cache))
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
    let version = release(machine, &path)?;
    Ok(Ptxas { path, version })
}

/// The CUDA release that a program of the toolkit belongs to.
pub(crate) fn release(machine: &dyn Machine, program: &Path) -> Result<Version, Rejection> {
    let program = program.to_owned();
    if !program.is_file() {
        return Err(Rejection::NoFile { path: program });
    }
    let text =
        machine
            .output(&program, &["--version"])
            .map_err(|source| Rejection::DoesNotRun {
                program: program.clone(),
                message: source.to_string(),
            })?;
    // "Cuda compilation tools, release 13.0, V13.0.88"
    let version = text
        .lines()
        .find_map(|line| Version::parse(line.rsplit_once(", V")?.1));
    version.ok_or(Rejection::Unreadable {
        program,
        what: "release",
    })
}

/// `sm_80` of the line `.target sm_80, debug`.
fn target(ptx: &str) -> Option<&str> {
    let line = ptx
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(".target"))?;
    line.split([',', '/'])
        .next()
        .map(str::trim)
        .filter(|target| target.starts_with("sm_"))
}

#[cfg(test)]
mod tests {
    use super::target;

    #[test]
    fn the_target_is_the_first_word_of_its_line() {
        assert_eq!(
            target("//\n.version 7.0\n.target sm_80\n.address_size 64"),
            Some("sm_80")
        );
        assert_eq!(
            target(".version 8.0\n  .target sm_90a, debug // why\n"),
            Some("sm_90a")
        );
        assert_eq!(target(".version 8.0\n.target\n"), None);
        assert_eq!(target(""), None);
    }
}
