//! What can be wrong with a file.

use std::io;
use std::path::PathBuf;

/// Why a file could not be read or written. [`hint`](Self::hint) says what to do, where that is not plain.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The extension names no format.
    #[error("{}: the extension names none of .npy, .csv, .wav", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// A folder where a file is wanted.
    #[error("{} is a folder, not a file", path.display())]
    IsFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The system refuses to read it.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The system refuses to write it.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The bytes are not what the extension says, or something that is not supported.
    #[error("{}: {}", path.display(), problem.what)]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: Problem,
    },
    /// The result does not fit the output's format.
    #[error("{}: {reason}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// What is wrong with a file's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
}

impl Problem {
    /// A problem that speaks for itself.
    pub(super) fn new(what: impl Into<String>) -> Self {
        Problem {
            what: what.into(),
            hint: None,
        }
    }

    /// With advice.
    pub(super) fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }
}

impl FileError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            FileError::Content { problem, .. } => problem.hint,
            FileError::IsFolder { .. } => Some("name a file in it"),
            FileError::Read { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => Some("check the path"),
                io::ErrorKind::PermissionDenied => Some("you may not read it: see its permissions"),
                _ => None,
            },
            FileError::Write { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => Some("make the folder first"),
                io::ErrorKind::PermissionDenied => {
                    Some("write to a folder and a file that you may change")
                }
                _ => None,
            },
            FileError::UnknownFormat { .. } => {
                Some("rename the file, or convert it to one of these formats")
            }
            FileError::Unwritable { .. } => Some("choose another format for the output"),
        }
    }
}
