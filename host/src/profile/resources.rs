//! Registers and spills of the machine code, from NVIDIA's assembler.

use std::io::Write as _;
use std::path::Path;

use cuda_tools::Ptxas;
use cuda_tools::ptxas::Usage;
use tempfile::NamedTempFile;

/// Asks `ptxas` for the resources of kernels in one PTX.
pub struct Assembler {
    tools: Result<(Ptxas, NamedTempFile), String>,
}

impl Assembler {
    /// For this PTX. Without `ptxas`, every answer is the reason.
    pub fn new(ptx: &str) -> Self {
        // `cargo xtask` keeps the tools that it downloads in target/tools, and this program is
        // target/release/blockwise.
        let program = std::env::current_exe().unwrap_or_default();
        let target = program.ancestors().nth(2).unwrap_or(Path::new(""));
        let ptxas = Ptxas::find(&target.join("tools")).map_err(|error| error.to_string());
        let tools = ptxas.and_then(|ptxas| Ok((ptxas, copy(ptx)?)));
        Self { tools }
    }

    /// A kernel's resources on an architecture such as `sm_90`, or why they are unknown.
    pub fn usage(&self, arch: &str, kernel: &str) -> Result<Usage, String> {
        let (ptxas, file) = self.tools.as_ref().map_err(Clone::clone)?;
        let usage = ptxas.usage(file.path(), arch, kernel);
        usage.map_err(|error| error.to_string())
    }
}

/// The text in a file: `ptxas` reads nothing else.
fn copy(ptx: &str) -> Result<NamedTempFile, String> {
    let write = || {
        let mut file = tempfile::Builder::new().suffix(".ptx").tempfile()?;
        file.write_all(ptx.as_bytes())?;
        Ok(file)
    };
    write().map_err(|error: std::io::Error| format!("no file for ptxas can be written: {error}"))
}
