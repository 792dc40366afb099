//! The output files of a build, and how the next build knows that they are up to date.

use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use crate::CudaBuilder;
use crate::compile::Bitcode;
use crate::error::{CudaBuilderError, io_error};
use crate::files::replace;
use crate::tools::{Toolchain, libdevice};

/// The output paths of one crate for one architecture.
pub(crate) struct Folder {
    path: PathBuf,
    name: String,
}

impl Folder {
    pub(crate) fn new(bitcode: &Bitcode) -> Result<Self, CudaBuilderError> {
        let path = bitcode.target_folder.join("ptx");
        fs::create_dir_all(&path).map_err(io_error("create", &path))?;
        Ok(Folder {
            path,
            name: bitcode.name.clone(),
        })
    }

    /// A file of this crate with the given extension.
    pub(crate) fn file(&self, extension: &str) -> PathBuf {
        self.path.join(format!("{}.{extension}", self.name))
    }

    pub(crate) fn ptx(&self) -> PathBuf {
        self.file("ptx")
    }

    /// An empty folder for files of this crate.
    pub(crate) fn new_folder(&self, extension: &str) -> Result<PathBuf, CudaBuilderError> {
        let path = self.file(extension);
        // Left by a build that was interrupted.
        if path.exists() {
            fs::remove_dir_all(&path).map_err(io_error("remove", &path))?;
        }
        fs::create_dir(&path).map_err(io_error("create", &path))?;
        Ok(path)
    }

    /// The linked module after the first stages, before the optimiser.
    pub(crate) fn lowered_ir(&self) -> PathBuf {
        self.file("lowered.ll")
    }

    /// The module that the PTX is printed from.
    pub(crate) fn optimised_ir(&self) -> PathBuf {
        self.file("ll")
    }

    /// The build's warnings, one per line.
    pub(crate) fn warnings(&self) -> PathBuf {
        self.file("warnings")
    }

    /// Whether the PTX was built from exactly these inputs.
    pub(crate) fn is_fresh(&self, fingerprint: &str) -> bool {
        self.ptx().is_file()
            && fs::read_to_string(self.file("fingerprint")).is_ok_and(|old| old == fingerprint)
    }

    /// Marks the folder's contents as invalid until [`finish`](Self::finish).
    pub(crate) fn begin(&self) -> Result<(), CudaBuilderError> {
        match fs::remove_file(self.file("fingerprint")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(io_error("remove", self.file("fingerprint"))(error))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn finish(&self, fingerprint: &str) -> Result<(), CudaBuilderError> {
        replace(&self.file("fingerprint"), fingerprint.as_bytes())
    }
}

/// Incremented whenever a change of this crate changes the PTX of an unchanged crate; otherwise
/// output of an earlier version would look up to date.
pub(crate) const LOWERING: u32 = 46;

/// Everything that determines the PTX: the bitcode, the options, the tools. cargo's arguments act
/// only through the bitcode, and `deny_divergence` only on what is reported: a build script and a
/// command that differ in these share one file.
pub(crate) fn fingerprint(
    builder: &CudaBuilder,
    toolchain: &Toolchain,
    bitcode: &Bitcode,
) -> Result<String, CudaBuilderError> {
    let options = CudaBuilder {
        ptx_file_copy_path: None, // copies to several places come from one file
        build_args: Vec::new(),
        deny_divergence: false,
        ..builder.clone()
    };
    let mut text = format!("{LOWERING}\n{options:?}\n{toolchain}\n");
    // Its path after fetching, even if it has not been fetched: most builds never need it.
    let tools = &bitcode.tools_folder;
    let libdevice = libdevice::find(tools).unwrap_or_else(|_| libdevice::WHEEL.place(tools));
    let _ = writeln!(text, "{}", libdevice.display());
    // The name of its folder identifies its contents.
    let _ = writeln!(text, "{}", bitcode.sysroot.flag());
    for archive in &bitcode.crates {
        let bytes = fs::read(archive).map_err(io_error("read", archive))?;
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let _ = writeln!(text, "{:016x} {}", hasher.finish(), archive.display());
    }
    Ok(text)
}
