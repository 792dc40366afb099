//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{BufWriter, Error, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::FileError;

/// A place for an output, taken before the computation so that a folder that cannot be written is found first.
///
/// Until [`write`](Self::write) nothing is left in the folder, so that an interrupted computation leaves nothing behind.
#[derive(Debug)]
pub struct OutputFile {
    /// As the user named it.
    path: PathBuf,
    /// The file itself: through a link, the file that it names is written and the link stays.
    target: PathBuf,
}

impl OutputFile {
    /// Tries the place.
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
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        temporary_beside(&target).map_err(refused)?;
        Ok(OutputFile {
            path: path.to_owned(),
            target,
        })
    }

    /// Puts the contents in place, all at once.
    ///
    /// # Errors
    /// The system's error; then the destination is as it was.
    pub fn write(self, bytes: &[u8]) -> Result<(), FileError> {
        let mut file = self.create()?;
        (file.write_all(bytes)).map_err(|error| file.refused(error))?;
        file.finish()
    }

    /// Begins the contents.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn create(self) -> Result<Unfinished, FileError> {
        match temporary_beside(&self.target) {
            Ok(temporary) => Ok(Unfinished {
                place: self,
                temporary,
            }),
            Err(source) => Err(FileError::Write {
                path: self.path,
                source,
            }),
        }
    }
}

/// An output that is being written: a file beside the destination, which goes away unless it is finished.
#[derive(Debug)]
pub(super) struct Unfinished {
    place: OutputFile,
    temporary: NamedTempFile,
}

impl Unfinished {
    /// Puts the contents in place.
    pub(super) fn finish(self) -> Result<(), FileError> {
        let Self { place, temporary } = self;
        let refused = |source| FileError::Write {
            path: place.path.clone(),
            source,
        };
        temporary.as_file().sync_all().map_err(refused)?;
        temporary
            .persist(&place.target)
            .map_err(|error| refused(error.error))?;
        Ok(())
    }

    /// The destination as the user named it.
    pub(super) fn path(&self) -> &Path {
        &self.place.path
    }

    /// The system's error with the destination's name.
    pub(super) fn refused(&self, source: Error) -> FileError {
        FileError::Write {
            path: self.place.path.clone(),
            source,
        }
    }

    pub(super) fn as_file_mut(&mut self) -> &mut File {
        self.temporary.as_file_mut()
    }
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.temporary.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.temporary.flush()
    }
}

impl Seek for Unfinished {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.temporary.seek(to)
    }
}

/// Puts buffered contents in place.
pub(super) fn finish(file: BufWriter<Unfinished>) -> Result<(), FileError> {
    match file.into_inner() {
        Ok(file) => file.finish(),
        Err(error) => {
            let (error, file) = error.into_parts();
            Err(file.get_ref().refused(error))
        }
    }
}

/// A new file in the folder of `path`, which goes away by itself.
fn temporary_beside(path: &Path) -> std::io::Result<NamedTempFile> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".blockwise-");
    // What an ordinary new file gets: the user's umask decides.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
        .tempfile_in(folder)
        .map_err(|error| match error.kind() {
            // Without the temporary file's own name.
            kind @ ErrorKind::NotFound => Error::new(kind, "there is no such folder"),
            kind @ ErrorKind::PermissionDenied => Error::new(kind, "permission denied"),
            _ => error,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn nothing_appears_before_the_write_and_nothing_is_left_without_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.npy");
        let output = OutputFile::prepare(&path).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        output.write(b"whole").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        OutputFile::prepare(&path).unwrap().write(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_those_of_any_new_file_and_links_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode();
        fs::write(at("ordinary"), "").unwrap();
        OutputFile::prepare(&at("out"))
            .unwrap()
            .write(b"x")
            .unwrap();
        assert_eq!(mode("out"), mode("ordinary"));
        symlink(at("out"), at("link")).unwrap();
        OutputFile::prepare(&at("link"))
            .unwrap()
            .write(b"y")
            .unwrap();
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        assert_eq!(fs::read(at("out")).unwrap(), b"y");
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
