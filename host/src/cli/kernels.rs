//! The PTX of this project's kernels: embedded in the program, or a replacement by the user.

use std::path::PathBuf;

use blockwise::{Device, PtxFile, PtxSource};
use blockwise_ops::tuning;
use kernels::KERNELS;

use super::failure::Failure;
use super::progress::Listener;
use super::{Global, report};

/// The file or folder with the user's PTX, if `--ptx` is not given.
const VARIABLE: &str = "BLOCKWISE_PTX_DIR";

impl Global {
    /// The user's PTX, if any.
    fn replacement(&self) -> Option<PtxSource> {
        let from_environment = || std::env::var_os(VARIABLE).filter(|path| !path.is_empty());
        let path = (self.ptx.clone()).or_else(|| from_environment().map(PathBuf::from))?;
        Some(PtxSource::at(path))
    }

    /// The device, with the user's kernels instead of the embedded ones, if any, and the memory that
    /// the user leaves it.
    pub(super) fn with_kernels(&self, device: Device) -> Result<Device, Failure> {
        if let Some(bytes) = self.device_memory {
            device.limit_memory(bytes);
        }
        if let Some(source) = self.replacement() {
            let file = source.select(KERNELS.package, device.properties())?;
            report::notice(&format!("kernels from {}", file.origin));
            // SAFETY: by naming this PTX, the user vouches that it is the kernels'. Signatures are
            // compared.
            unsafe { device.replace_kernels(KERNELS.package, file) };
            let mut listener = Listener::alone();
            device.set_progress(move |progress| listener.hear(progress));
        }
        if let Some(problem) = tuning::problem() {
            report::notice(&format!("warning: {problem}"));
        }
        let (rules, path) = (tuning::rules(device.properties()), tuning::path());
        if let (1.., Some(path)) = (rules, path) {
            let path = path.display();
            report::notice(&format!("kernels for {rules} sizes as saved in {path}"));
        }
        Ok(device)
    }

    /// The kernels' PTX that a device of [`with_kernels`](Self::with_kernels) runs, for tools that
    /// read it.
    pub(super) fn ptx(&self, device: &Device) -> Result<PtxFile, Failure> {
        let file = device.kernels_file(&KERNELS)?;
        Ok(match self.replacement() {
            Some(_) => file,
            None => PtxFile {
                origin: format!("embedded:{}.sm_{}.ptx", KERNELS.package, file.target),
                ..file
            },
        })
    }
}
