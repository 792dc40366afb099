//! Confines the files of a launch from a network client to one folder, whatever links and `..` say.

use std::path::{Path, PathBuf};

use kernel_arguments::{Array, Files, Problem, Type};

use crate::cli::failure::Failure;
use crate::cli::kernel_args::Disk;

/// The folder where the command was started.
pub(super) struct Confined {
    /// Without links.
    root: PathBuf,
}

impl Confined {
    /// Confines to the current folder.
    pub(super) fn here() -> std::io::Result<Self> {
        let root = std::env::current_dir()?.canonicalize()?;
        Ok(Self { root })
    }

    /// The folder for a launch's relative paths.
    pub(super) fn folder(&self, named: Option<&Path>) -> Result<PathBuf, Failure> {
        self.below(&self.root.join(named.unwrap_or(Path::new(""))))
            .map_err(Failure::new)
    }

    /// The resolved path of a file or folder, relative to the current folder.
    pub(super) fn path(&self, named: &Path) -> Result<PathBuf, Failure> {
        self.below(named).map_err(Failure::new)
    }

    fn below(&self, path: &Path) -> Result<PathBuf, String> {
        let below = |real: &PathBuf| real.starts_with(&self.root);
        // The same message whether it is missing or outside: a client must not learn which files
        // exist.
        let real = path.canonicalize().ok().filter(below).ok_or_else(|| {
            format!(
                "{}: there is no such file below {}, where `blockwise debug --port` was started",
                path.display(),
                self.root.display()
            )
        })?;
        // Opening a pipe would wait for a writer.
        match real.metadata() {
            Ok(about) if about.is_file() || about.is_dir() => Ok(real),
            _ => Err(format!("{} is no file", path.display())),
        }
    }
}

impl Files for Confined {
    fn array(&self, path: &Path, ty: Type) -> Result<Array, Problem> {
        Disk.array(&self.below(path).map_err(Problem::new)?, ty)
    }
}
