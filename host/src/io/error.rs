//! Errors of files.

use std::io;
use std::path::{Path, PathBuf};

/// Why a file could not be read or written. [`hint`](Self::hint) says what to do, if that is not
/// obvious.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The extension names no format.
    #[error("{}: the extension names none of .npy, .csv, .wav", path.display())]
    UnknownFormat {
        /// The file's path.
        path: PathBuf,
        /// Whether it is to be written.
        is_output: bool,
    },
    /// A folder where a file is wanted.
    #[error("{} is a folder, not a file", path.display())]
    IsFolder {
        /// The folder's path.
        path: PathBuf,
    },
    /// The system refused to read it.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file's path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The system refused to write it.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file's path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The contents do not match the extension, or are not supported.
    #[error("{}: {}", path.display(), problem.what)]
    Content {
        /// The file's path.
        path: PathBuf,
        /// What is wrong.
        problem: Problem,
    },
    /// The result does not fit the output's format.
    #[error("{}: {reason}", path.display())]
    Unwritable {
        /// The file's path.
        path: PathBuf,
        /// The reason, in words.
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
    /// A problem without advice.
    pub(super) fn new(what: impl Into<String>) -> Self {
        Problem {
            what: what.into(),
            hint: None,
        }
    }

    /// Adds advice.
    pub(super) fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }
}

/// An error inside a file, whose name the caller adds.
#[derive(Debug)]
pub(super) enum Defect {
    /// The system's error.
    Io(io::Error),
    /// The bytes are wrong.
    Content(Problem),
    /// The format cannot hold the result.
    Unwritable(String),
}

impl From<io::Error> for Defect {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // The length was checked before.
            io::ErrorKind::UnexpectedEof => {
                Problem::new("the file became shorter while it was read")
                    .hint("is something else writing it?")
                    .into()
            }
            _ => Self::Io(error),
        }
    }
}

impl From<Problem> for Defect {
    fn from(problem: Problem) -> Self {
        Self::Content(problem)
    }
}

impl Defect {
    /// The error for a file being read.
    pub(super) fn reading(self, path: &Path) -> FileError {
        let path = path.to_owned();
        match self {
            Self::Io(source) => FileError::Read { path, source },
            Self::Content(problem) => FileError::Content { path, problem },
            Self::Unwritable(reason) => FileError::Unwritable { path, reason },
        }
    }

    /// The error for a file being written.
    pub(super) fn writing(self, path: &Path) -> FileError {
        let path = path.to_owned();
        match self {
            Self::Io(source) => FileError::Write { path, source },
            Self::Content(Problem { what: reason, .. }) | Self::Unwritable(reason) => {
                FileError::Unwritable { path, reason }
            }
        }
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
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    Some("make room there, or write to another disk")
                }
                io::ErrorKind::ReadOnlyFilesystem => Some("write to another disk"),
                _ => None,
            },
            FileError::UnknownFormat {
                is_output: true, ..
            } => Some("let the output's name end with one of these, .wav for filtered sound only"),
            FileError::UnknownFormat { path, .. } => Some(unknown(path)),
            FileError::Unwritable { .. } => Some("choose another format for the output"),
        }
    }
}

/// How to convert a file whose name and contents say nothing of a known format.
fn unknown(path: &Path) -> &'static str {
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    match extension.to_str() {
        Some("txt" | "dat" | "tsv" | "asc" | "tab") => {
            "if commas end its cells, name it .csv; else in Python: `numpy.save('x.npy', numpy.loadtxt('IN'))`"
        }
        Some("mat") => "in Python: `numpy.save('x.npy', scipy.io.loadmat('IN')['x'])`",
        Some("raw" | "pcm" | "bin" | "f32" | "f64" | "s16" | "sam") => {
            "its bytes do not say what they are: sound by `ffmpeg -f s16le -ar 16000 -ac 1 -i IN OUT.wav`, an array by `numpy.save('x.npy', numpy.fromfile('IN', '<f4'))`"
        }
        _ => "rename the file, or convert it to one of these formats",
    }
}
