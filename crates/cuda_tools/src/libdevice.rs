//! libdevice: NVIDIA's mathematical functions as LLVM bitcode (`__nv_sinf`, …). Only kernels that
//! call one of them need it.

use std::path::{Path, PathBuf};

use super::machine::{Host, Machine};
use super::wheel::Wheel;
use super::{ToolError, variables};

/// The wheel that provides the library without a CUDA toolkit (75 MB, of which the library is 0.5
/// MB).
pub const WHEEL: Wheel = Wheel {
    package: "nvidia-nvvm",
    version: "13.5.37",
    sha256: &[
        "c41bfa362e407405163f103c2229f0765f8cc2ed7d148b754dc77f228bf7e070", // Linux, x86-64
        "b659bd3115b7ac7ec8931e67d0e2c0dd09cd35b08a6a7372df6f8f22c67da80a", // Linux, aarch64
        "9422cd190cedabca85f88de6674e0ee16f508915698517e04bfaf193f1809c21", // Windows
    ],
    file: "nvidia/cu13/nvvm/libdevice/libdevice.10.bc",
};

/// Its path in a CUDA toolkit.
const IN_TOOLKIT: &str = "nvvm/libdevice/libdevice.10.bc";

/// Finds the library: in the variable [`variables::LIBDEVICE`], the toolkit in `CUDA_HOME` or
/// `CUDA_PATH`, `/usr/local/cuda`, or the wheel in `cache` or the user's cache, if [`find_or_fetch`]
/// or `blockwise setup` put it there.
///
/// # Errors
/// [`ToolError::NoLibdevice`].
pub fn find(cache: &Path) -> Result<PathBuf, ToolError> {
    find_on(&Host, cache)
}

/// Like [`find`], but fetches the wheel into `cache` if nothing is found.
///
/// # Errors
/// [`ToolError::NoLibdevice`] if [`variables::LIBDEVICE`] names no file; otherwise those of
/// [`Wheel::fetch`].
pub fn find_or_fetch(cache: &Path) -> Result<PathBuf, ToolError> {
    let found = find(cache);
    // A file chosen by the user is never replaced silently.
    if found.is_ok() || Host.variable(variables::LIBDEVICE).is_some() {
        return found;
    }
    WHEEL.fetch(cache)
}

pub(crate) fn find_on(machine: &dyn Machine, cache: &Path) -> Result<PathBuf, ToolError> {
    if let Some(path) = machine.variable(variables::LIBDEVICE).map(PathBuf::from) {
        if path.is_file() {
            return Ok(path);
        }
        return Err(ToolError::NoLibdevice {
            reason: format!("{}={} does not exist", variables::LIBDEVICE, path.display()),
        });
    }
    ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(|variable| machine.variable(variable).map(PathBuf::from))
        .chain([machine.root().join("usr/local/cuda")])
        .map(|toolkit| toolkit.join(IN_TOOLKIT))
        .find(|path| path.is_file())
        .or_else(|| WHEEL.found_on(machine, cache))
        .ok_or_else(|| ToolError::NoLibdevice {
            reason: "none in CUDA_HOME, CUDA_PATH and /usr/local/cuda, and none fetched yet"
                .to_owned(),
        })
}
