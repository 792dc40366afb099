//! Files that appear whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::FileError;

/// A place for an output, taken before the computation so that a folder that cannot be written is found first.
///
/// Until [`write`](Self::write) there is only a temporary file beside the destination, which goes away by itself.
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    temporary: NamedTempFile,
}

impl OutputFile {
    /// Takes the place.
    ///
    /// # Errors
    /// The destination is a folder, or its folder does not exist or cannot be written.
    pub fn prepare(path: &Path) -> Result<Self, FileError> {
        if path.is_dir() {
            return Err(FileError::IsFolder {
                path: path.to_owned(),
            });
        }
        let refused = |source| FileError::Write {
            path: path.to_owned(),
            source,
        };
        // A file that its owner protected is not replaced, though its folder would allow it.
        if path.exists() {
            std::fs::OpenOptions::new()
                .write(true)
                .open(path)
                .map_err(refused)?;
        }
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".blockwise-");
        // What an ordinary new file gets: the user's umask decides.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let temporary = builder
            .tempfile_in(folder)
            .map_err(|source| match source.kind() {
                // Without the temporary file's own name.
                kind @ (std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied) => {
                    refused(kind.into())
                }
                _ => refused(source),
            })?;
        Ok(OutputFile {
            path: path.to_owned(),
            temporary,
        })
    }

    /// Puts the contents in place, all at once.
    ///
    /// # Errors
    /// The system's error; then the destination is as it was.
    pub fn write(mut self, bytes: &[u8]) -> Result<(), FileError> {
        let refused = |source| FileError::Write {
            path: self.path.clone(),
            source,
        };
        self.temporary.write_all(bytes).map_err(refused)?;
        self.temporary.as_file().sync_all().map_err(refused)?;
        self.temporary
            .persist(&self.path)
            .map_err(|error| FileError::Write {
                path: self.path,
                source: error.error,
            })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn nothing_appears_before_the_write_and_nothing_is_left_without_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.npy");
        drop(OutputFile::prepare(&path).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let output = OutputFile::prepare(&path).unwrap();
        assert!(!path.exists());
        output.write(b"whole").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        OutputFile::prepare(&path).unwrap().write(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn places_that_cannot_be_written_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let error = OutputFile::prepare(folder.path()).unwrap_err();
        assert!(matches!(error, FileError::IsFolder { .. }));
        let error = OutputFile::prepare(&folder.path().join("no/such/out.npy")).unwrap_err();
        assert!(error.to_string().starts_with("cannot write"), "{error}");
    }
}
