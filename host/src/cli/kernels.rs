//! The PTX of this project's kernels: embedded in the program, or a replacement by the user.

use std::collections::BTreeSet;
use std::path::PathBuf;

use blockwise::{Device, Error, PtxFile, PtxSource};
use blockwise_ops::tuning;
use kernels::KERNELS;
use ladder::KERNELS as STEPS;
use launch_contract::launch::Kernels;

use super::failure::Failure;
use super::progress::Listener;
use super::{Global, report};

/// The file or folder with the user's PTX, if `--ptx` is not given.
const VARIABLE: &str = "BLOCKWISE_PTX_DIR";

/// How the files of a folder begin, `kernels.sm_80.ptx`: as `cargo xtask build-ptx` names them.
const STEM: &str = "kernels";
const STEM_OF_STEPS: &str = "ladder";

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
            let file = source.select(STEM, device.properties())?;
            report::notice(&format!("kernels from {}", file.origin));
            // SAFETY: by naming this PTX, the user vouches that it is the kernels'. Signatures are
            // compared.
            unsafe { device.replace_kernels(KERNELS.package, file) };
            // A folder may also have those of the ladder.
            if let PtxSource::Folder(_) = source {
                match source.select(STEM_OF_STEPS, device.properties()) {
                    // SAFETY: as above.
                    Ok(file) => unsafe { device.replace_kernels(STEPS.package, file) },
                    Err(Error::NoArchitecture { architectures, .. })
                        if architectures.is_empty() => {}
                    Err(error) => return Err(error.into()),
                }
            }
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

    /// The PTX of some kernels that a device of [`with_kernels`](Self::with_kernels) runs, for tools
    /// that read it. An unknown name is looked for in the product's PTX.
    pub(super) fn ptx<'k>(
        &self,
        device: &Device,
        kernels: impl IntoIterator<Item = &'k str>,
    ) -> Result<Files, Failure> {
        let are_steps: BTreeSet<bool> = kernels.into_iter().map(is_step).collect();
        let read = |&of_ladder: &bool| {
            let (of, stem): (&Kernels, _) = match of_ladder {
                true => (&STEPS, STEM_OF_STEPS),
                false => (&KERNELS, STEM),
            };
            let file = device.kernels_file(of)?;
            Ok(match self.replacement() {
                Some(_) => file,
                None => PtxFile {
                    origin: format!("embedded:{stem}.sm_{}.ptx", file.target),
                    ..file
                },
            })
        };
        Ok(Files {
            all: are_steps.iter().map(read).collect::<Result<_, Failure>>()?,
            // The product's come first.
            steps: are_steps.iter().position(|&of_ladder| of_ladder),
        })
    }
}

/// PTX files, of which one may be the ladder's.
pub(super) struct Files {
    /// At least one.
    pub(super) all: Vec<PtxFile>,
    steps: Option<usize>,
}

impl Files {
    /// One file with all kernels.
    pub(super) fn one(file: PtxFile) -> Self {
        Self {
            all: vec![file],
            steps: None,
        }
    }

    /// The place of the file with this kernel.
    pub(super) fn place_of(&self, kernel: &str) -> usize {
        self.steps.filter(|_| is_step(kernel)).unwrap_or(0)
    }
}

/// Whether an entry point is of the crate `ladder`.
fn is_step(kernel: &str) -> bool {
    let kernels = ladder::STEPS.iter().flat_map(|step| step.kernels);
    let mut names = kernels.map(|kernel| kernel.entry.name);
    names.any(|name| name == kernel) || kernel == ladder::peak::peak_fma_f32::entry().name
}
