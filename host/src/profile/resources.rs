//! Registers and spills of machine code, by NVIDIA's assembler.

use std::path::{Path, PathBuf};

use cuda_builder::tools::Ptxas;
use cuda_builder::tools::ptxas::Usage;

/// Asks `ptxas` what kernels of one PTX file need.
pub struct Assembler {
    file: PathBuf,
    ptxas: Result<Ptxas, String>,
}

impl Assembler {
    /// For the PTX in `file`. Where there is no `ptxas`, every answer is that reason.
    pub fn new(file: &Path) -> Self {
        // `cargo xtask` keeps the tools that it fetches beside the folder of the PTX.
        let near = file
            .parent()
            .and_then(Path::parent)
            .unwrap_or(Path::new(""));
        let ptxas = Ptxas::find(&near.join("tools")).map_err(|error| error.to_string());
        Self {
            file: file.to_owned(),
            ptxas,
        }
    }

    /// What a kernel needs on an architecture such as `sm_90`, or why that is not known.
    pub fn usage(&self, arch: &str, kernel: &str) -> Result<Usage, String> {
        let ptxas = self.ptxas.as_ref().map_err(Clone::clone)?;
        ptxas
            .usage(&self.file, arch, kernel)
            .map_err(|error| error.to_string())
    }
}
