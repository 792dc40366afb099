//! NVIDIA's disassembler, which shows the machine code that ptxas makes. It needs no GPU.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::ToolError;
use super::machine::{Host, Machine, executable};
use super::ptxas::{Ptxas, release};
use super::search::on_path;
use super::wheel::Wheel;

/// The wheel that provides `nvdisasm` without a CUDA toolkit (5 MB).
pub const WHEEL: Wheel = Wheel {
    package: "nvidia-cuda-nvdisasm",
    version: "13.5.37",
    sha256: &[
        "d3fdbdd49fa53e2e4aacd3db8259d052bd2b049ececdcb69e92e083c6728e7ca", // Linux, x86-64
        "a3a8248074edb9fba63b74c38a5416b712a91ab09e70b8ab37186c3d293fc605", // Linux, aarch64
        "aa42a3ecda8c58ff6ff2f9cbe1fc905d7f797a1ca4071941349fda114bf2a628", // Windows
    ],
    file: "nvidia/cu13/bin/nvdisasm",
};

/// Finds `nvdisasm`: beside `ptxas`, on the `PATH`, or the wheel in `cache` or the user's cache.
/// One that is older than `ptxas` may not know its code and is passed over.
pub fn find(ptxas: &Ptxas, cache: &Path) -> Option<PathBuf> {
    find_on(&Host, ptxas, cache)
}

pub(crate) fn find_on(machine: &dyn Machine, ptxas: &Ptxas, cache: &Path) -> Option<PathBuf> {
    let beside = ptxas.path.with_file_name(executable("nvdisasm"));
    let is_new =
        |path: &PathBuf| release(machine, path).is_ok_and(|release| release >= ptxas.version);
    [beside]
        .into_iter()
        .chain(on_path(machine, "nvdisasm"))
        .chain(WHEEL.found_on(machine, cache))
        .find(is_new)
}

/// The instructions in the machine code `cubin`, as text, by the program `nvdisasm`.
///
/// # Errors
/// [`ToolError::Io`] if the program does not run or cannot read the file.
pub fn disassemble(nvdisasm: &Path, cubin: &Path) -> Result<String, ToolError> {
    let error = |source| ToolError::Io {
        path: nvdisasm.to_owned(),
        source,
    };
    let output = Command::new(nvdisasm)
        .arg("--print-code")
        .arg(cubin)
        .stdin(Stdio::null())
        .output()
        .map_err(error)?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let message = String::from_utf8_lossy(&output.stderr);
        Err(error(io::Error::other(message.trim().to_owned())))
    }
}
