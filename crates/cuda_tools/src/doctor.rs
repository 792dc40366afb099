//! Which tools are found, what is missing, and the command that fixes it. Changes nothing.

use std::fmt::Write as _;
use std::path::Path;

use crate::{Ptxas, Toolchain, gpu, libdevice, nccl};

/// What `blockwise doctor` and `cargo xtask doctor` print.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// The report, many lines.
    pub text: String,
    /// Whether everything needed is there.
    pub complete: bool,
}

/// Examines this machine. `cache` is the folder of fetched tools, `setup` the command that installs
/// what is missing; `needs_ptxas` if its absence counts.
pub fn examine(cache: &Path, setup: &str, needs_ptxas: bool) -> Diagnosis {
    let report = Toolchain::search();
    let mut text = format!("Rust to PTX (the first complete place is used)\n{report}");
    if let Some(toolchain) = report.chosen() {
        let _ = writeln!(text, "  used: {}", toolchain.origin);
    }

    text += "ptxas (checks PTX, counts registers)\n";
    let ptxas = Ptxas::find(cache);
    let _ = match &ptxas {
        Ok(ptxas) => writeln!(text, "  CUDA {}: {}", ptxas.version, ptxas.path.display()),
        Err(error) => writeln!(text, "  {error}"),
    };

    text += "libdevice (kernels that call sin, exp, …; fetched when first needed)\n";
    let _ = match libdevice::find(cache) {
        Ok(path) => writeln!(text, "  {}", path.display()),
        Err(error) => writeln!(text, "  {error}"),
    };

    let chosen = std::env::var(nccl::VARIABLE).ok();
    text += "NCCL (programs on several GPUs load it)\n";
    let _ = match (
        chosen.filter(|path| !path.is_empty()),
        nccl::WHEEL.found(cache),
    ) {
        (Some(path), _) => writeln!(text, "  {path} ({})", nccl::VARIABLE),
        (None, Some(path)) => writeln!(text, "  export {}={}", nccl::VARIABLE, path.display()),
        (None, None) => writeln!(
            text,
            "  the system's libnccl.so.2, if there is one; else: {setup} --nccl"
        ),
    };

    let _ = writeln!(text, "GPU\n  {}\n", gpu::describe());

    let complete = report.chosen().is_some() && (ptxas.is_ok() || !needs_ptxas);
    if complete {
        text += "Nothing is missing.";
    } else if report.chosen().is_none() {
        let _ = write!(
            text,
            "No toolchain can build PTX; {}\n  {setup}",
            report.fix()
        );
    } else {
        let _ = write!(text, "ptxas is missing; fix: {setup}");
    }
    Diagnosis { text, complete }
}
