//! NVIDIA's library that moves data between GPUs. Only programs that run on several GPUs need it,
//! and only at run time.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use cuda_tools::wheel::Wheel;

use crate::workspace;

/// The wheel that provides it on a machine without NVIDIA's package libnccl2.
const WHEEL: Wheel = Wheel {
    package: "nvidia-nccl-cu13",
    version: "2.28.9",
    sha256: &[
        "e4553a30f34195f3fa1da02a6da3d6337d28f2003943aa0a3d247bbc25fefc42", // Linux, x86-64
        "01c873ba1626b54caa12272ed228dc5b2781545e0ae8ba3f432a8ef1c6d78643", // Linux, aarch64
    ],
    file: "nvidia/nccl/lib/libnccl.so.2",
};

/// The variable that names the library to load instead of the system's.
const VARIABLE: &str = "BLOCKWISE_LIBNCCL";

/// The wheel's library, if it has been fetched.
fn fetched() -> Result<Option<PathBuf>> {
    Ok(WHEEL.cached(&workspace::tools()?))
}

/// The text that `doctor` prints.
pub(crate) fn describe() -> Result<String> {
    let chosen = std::env::var(VARIABLE).ok().filter(|path| !path.is_empty());
    Ok(match (chosen, fetched()?) {
        (Some(path), _) => format!("{path} ({VARIABLE})"),
        (None, Some(path)) => format!("export {VARIABLE}={}", path.display()),
        (None, None) => {
            "the system's libnccl.so.2, if there is one; else: cargo xtask setup --nccl".to_owned()
        }
    })
}

/// Fetches it, and prints how programs find it.
pub(crate) fn install() -> Result<ExitCode> {
    if fetched()?.is_none() {
        say!("fetching {WHEEL} from PyPI");
    }
    let path = WHEEL.fetch(&workspace::tools()?)?;
    say!("NCCL: export {VARIABLE}={}", path.display());
    Ok(ExitCode::SUCCESS)
}
