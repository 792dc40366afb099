//! Files with arrays: `.npy`, `.csv`, `.wav`.
//!
//! Opening a file checks everything but its numbers. It is read piece by piece or whole; an output
//! is written piece by piece, and appears whole or not at all.

mod array;
mod array_writer;
mod bytes;
mod csv;
mod error;
mod foreign;
mod memory;
mod npy;
mod number;
mod output;
mod pieces;
mod wav;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use blockwise::Type;

use bytes::Bytes;
use error::{Defect, Problem};

pub use array::ArrayReader;
pub use array_writer::ArrayWriter;
pub use error::FileError;
pub use number::Number;
pub use output::{OutputFile, standard_output_is_taken, without_notes};
pub use wav::{Coding, Finished, Metadata, RecordingReader, RecordingWriter, Sound};

/// The formats, by the file name's extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// NumPy's array format.
    Npy,
    /// Comma-separated numbers.
    Csv,
    /// Sound.
    Wav,
}

impl Format {
    /// The format of a file with this name.
    ///
    /// # Errors
    /// [`FileError::UnknownFormat`].
    pub fn of(path: &Path) -> Result<Self, FileError> {
        Self::by_name(path).ok_or_else(|| FileError::UnknownFormat {
            path: path.to_owned(),
            is_output: false,
        })
    }

    /// The format of an output: `otherwise` for a stream whose name has no known extension.
    ///
    /// # Errors
    /// [`FileError::UnknownFormat`] for a file.
    pub fn of_output(path: &Path, place: &OutputFile, otherwise: Self) -> Result<Self, FileError> {
        match Self::by_name(path) {
            Some(format) => Ok(format),
            None if place.is_stream() => Ok(otherwise),
            None => Err(FileError::UnknownFormat {
                path: path.to_owned(),
                is_output: true,
            }),
        }
    }

    fn by_name(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_string_lossy().to_ascii_lowercase();
        match &*extension {
            "npy" => Some(Format::Npy),
            "csv" => Some(Format::Csv),
            "wav" => Some(Format::Wav),
            _ => None,
        }
    }

    /// The format of a stream that begins with these bytes, if it is no text.
    fn by_contents(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some(Format::Npy),
            [b'R', b'I', b'F', b'F' | b'X', ..] | [b'R' | b'B', b'F' | b'W', b'6', b'4', ..] => {
                Some(Format::Wav)
            }
            _ => None,
        }
    }
}

const TOO_LONG_A_STREAM: &str =
    "if it has an end, write it into a .npy or .wav file first: those are read piece by piece";
const TOO_LONG_A_TEXT: &str =
    "save its numbers with `numpy.save`: .npy files are read piece by piece";

/// Refuses a file by its first bytes, as [`begins_as`].
fn recognised(bytes: &Bytes, len: u64, named: Option<Format>) -> Result<(), Defect> {
    let mut start = vec![0; len.min(foreign::ENOUGH as u64) as usize];
    bytes.read_exact_at(0, &mut start)?;
    Ok(begins_as(&start, named)?)
}

/// Refuses first bytes that belong to another format than the name's, if it has one. Text is read
/// whole, so what is none is refused before that.
fn begins_as(start: &[u8], named: Option<Format>) -> Result<(), Problem> {
    if let Some(foreign) = foreign::foreign(start) {
        return Err(Problem::new(format!(
            "this is {}, and .npy, .csv and .wav are read",
            foreign.name
        ))
        .hint(foreign.hint));
    }
    let (what, hint) = match Format::by_contents(start) {
        Some(Format::Npy) if named != Some(Format::Npy) => {
            ("a .npy file", "let its name end with .npy")
        }
        Some(Format::Wav) if named != Some(Format::Wav) => {
            ("a .wav file", "let its name end with .wav")
        }
        _ if named == Some(Format::Csv) => return csv::begins(start),
        _ => return Ok(()),
    };
    Err(Problem::new(format!(
        "this is {what} by its contents, and not by its name"
    ))
    .hint(hint))
}

/// Whether a path means standard input or standard output: `-`, or one of the system's names.
fn is_standard(path: &Path, names: [&str; 3]) -> bool {
    path == Path::new("-") || names.iter().any(|name| path == Path::new(name))
}

/// Reads numbers of `N` bytes from `place` on and converts them, the first one being number `at`.
fn convert<T, const N: usize>(
    bytes: &Bytes,
    mut place: u64,
    mut at: usize,
    values: &mut [T],
    number: impl Fn(usize, [u8; N]) -> Result<T, Defect>,
) -> Result<(), Defect> {
    // Few enough to stay in a core's cache.
    const PIECE: usize = 1 << 16;
    let mut buffer = vec![0; PIECE.min(values.len() * N)];
    for values in values.chunks_mut(PIECE / N) {
        let buffer = &mut buffer[..values.len() * N];
        bytes.read_exact_at(place, buffer)?;
        for (value, &bytes) in values.iter_mut().zip(buffer.as_chunks::<N>().0) {
            *value = number(at, bytes)?;
            at += 1;
        }
        place += buffer.len() as u64;
    }
    Ok(())
}

/// A file that is open to be read piece by piece.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    contents: Contents,
}

/// What a file holds.
#[derive(Debug)]
pub enum Contents {
    /// An array.
    Array(ArrayReader),
    /// Sound.
    Recording(RecordingReader),
}

impl Reader {
    /// Opens a file of any of the formats, and checks all of it but the numbers themselves. `-` is
    /// standard input. The format of a stream without a known extension follows from its first
    /// bytes.
    ///
    /// # Errors
    /// [`FileError`] with the path, what is wrong, and mostly what to do.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let system = |source| FileError::Read {
            path: path.to_owned(),
            source,
        };
        const NAMES: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
        if is_standard(path, NAMES) {
            static TAKEN: AtomicBool = AtomicBool::new(false);
            if TAKEN.swap(true, Ordering::Relaxed) {
                return Err(FileError::Content {
                    path: path.to_owned(),
                    problem: Problem::new("standard input was read already")
                        .hint("it can be one operand; name a file for the other"),
                });
            }
            return Self::of_stream(path, None, std::io::stdin().lock());
        }
        let metadata = fs::metadata(path).map_err(system)?;
        if metadata.is_dir() {
            return Err(FileError::IsFolder {
                path: path.to_owned(),
            });
        }
        // A path to a descriptor says nothing about the format, even if the descriptor is a file's.
        if metadata.is_file() && !output::is_descriptor(path) {
            let file = File::open(path).map_err(system)?;
            let len = file.metadata().map_err(system)?.len();
            let bytes = Bytes::File(Arc::new(file));
            let format =
                Format::of(path).map_err(|unknown| match recognised(&bytes, len, None) {
                    Err(defect @ Defect::Content(_)) => defect.reading(path),
                    _ => unknown,
                })?;
            return Self::begin(path, format, bytes, len);
        }
        let stream = File::open(path).map_err(system)?;
        Self::of_stream(path, Format::by_name(path), stream)
    }

    /// The same file, rewound.
    pub fn again(&self) -> Self {
        Self {
            path: self.path.clone(),
            contents: match &self.contents {
                Contents::Array(array) => Contents::Array(array.again()),
                Contents::Recording(recording) => Contents::Recording(recording.again()),
            },
        }
    }

    /// A reader for what a stream holds. The rest of one that is refused by its first bytes is not
    /// read: `/dev/zero` has no end. Nor is the output of `yes` read until there is no memory.
    fn of_stream(
        path: &Path,
        named: Option<Format>,
        mut stream: impl Read,
    ) -> Result<Self, FileError> {
        let mut read = || -> Result<(Format, Vec<u8>), Defect> {
            let mut bytes = Vec::new();
            (stream.by_ref().take(foreign::ENOUGH as u64)).read_to_end(&mut bytes)?;
            let found = named.or_else(|| Format::by_contents(&bytes));
            let format = found.unwrap_or(Format::Csv);
            begins_as(&bytes, Some(format))?;
            let most = memory::most(format);
            let rest = most.saturating_add(1).saturating_sub(bytes.len() as u64);
            (stream.by_ref().take(rest)).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > most {
                let what = "this is no regular file, so it is read whole, and it is";
                return Err(memory::too_long(most, what, TOO_LONG_A_STREAM).into());
            }
            Ok((format, bytes))
        };
        let (format, bytes) = read().map_err(|defect| defect.reading(path))?;
        let len = bytes.len() as u64;
        Self::begin(path, format, bytes.into(), len)
    }

    /// A file of `len` bytes.
    fn begin(path: &Path, format: Format, bytes: Bytes, len: u64) -> Result<Self, FileError> {
        let open = || -> Result<Contents, Defect> {
            recognised(&bytes, len, Some(format))?;
            Ok(match format {
                Format::Npy => Contents::Array(npy::open(bytes, len)?),
                Format::Wav => Contents::Recording(wav::open(bytes, len)?),
                // Text is read whole: data larger than memory is not kept as text.
                Format::Csv => Contents::Array(match &bytes {
                    Bytes::Memory(text) => csv::open(text)?,
                    Bytes::File(_) => {
                        let most = memory::most(format);
                        if len > most {
                            let what = "text is read whole, and this is";
                            return Err(memory::too_long(most, what, TOO_LONG_A_TEXT).into());
                        }
                        let mut text = Vec::new();
                        bytes.reader().read_to_end(&mut text)?;
                        csv::open(&text)?
                    }
                }),
            })
        };
        match open() {
            Ok(contents) => Ok(Self {
                path: path.to_owned(),
                contents,
            }),
            Err(error) => Err(error.reading(path)),
        }
    }

    /// The same, with a text of one row or one column as a matrix.
    pub fn into_matrix(self) -> Self {
        let contents = match self.contents {
            Contents::Array(array) => Contents::Array(array.into_matrix()),
            recording => recording,
        };
        Self { contents, ..self }
    }

    /// The file's name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Notices about the file for the user, one line each.
    pub fn notices(&self) -> &[String] {
        match &self.contents {
            Contents::Array(array) => array.notices(),
            Contents::Recording(recording) => recording.notices(),
        }
    }

    /// What the file holds.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// The contents of a recording besides its samples, for a recording derived from it; empty for
    /// an array. `same_times`: each frame keeps its time.
    ///
    /// # Errors
    /// The system's.
    pub fn metadata(&self, same_times: bool) -> Result<Metadata, FileError> {
        match &self.contents {
            Contents::Recording(recording) => {
                (recording.metadata(same_times)).map_err(|error| error.reading(&self.path))
            }
            Contents::Array(_) => Ok(Metadata::default()),
        }
    }

    /// Reads the next numbers: elements of an array in row-major order, samples of a recording
    /// frame by frame. Numbers of another type are converted.
    ///
    /// # Errors
    /// The system's errors, samples that are not finite, and a file that was truncated meanwhile.
    pub fn read<T: Number>(&mut self, values: &mut [T]) -> Result<(), FileError> {
        let read = match &mut self.contents {
            Contents::Array(array) => array.read(values),
            Contents::Recording(recording) => recording.read(values),
        };
        read.map_err(|error| error.reading(&self.path))
    }

    /// Reads the next elements as this type, the file's own or one that represents all of them,
    /// into `bytes`, which are aligned for it.
    ///
    /// # Errors
    /// The system's errors, a number that the type cannot represent, and a file that was truncated
    /// meanwhile.
    pub fn read_as(&mut self, ty: Type, bytes: &mut [u8]) -> Result<(), FileError> {
        let read = match &mut self.contents {
            Contents::Array(array) => array.read_as(ty, bytes),
            Contents::Recording(recording) => match ty {
                Type::F32 => recording.read::<f32>(bytemuck::cast_slice_mut(bytes)),
                _ => recording.read::<f64>(bytemuck::cast_slice_mut(bytes)),
            },
        };
        read.map_err(|error| error.reading(&self.path))
    }

    /// Skips the next numbers.
    pub fn skip(&mut self, numbers: usize) {
        match &mut self.contents {
            Contents::Array(array) => array.skip(numbers),
            Contents::Recording(recording) => recording.skip(numbers),
        }
    }

    /// The type and the little-endian bytes of an array's elements; `None` for a recording.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn bytes(self) -> Result<Option<(Type, Vec<u8>)>, FileError> {
        let Contents::Array(array) = self.contents else {
            return Ok(None);
        };
        let bytes = array.into_bytes();
        bytes.map(Some).map_err(|error| error.reading(&self.path))
    }
}
