//! Files with arrays: `.npy`, `.csv`, `.wav`.
//!
//! A file is checked when it is opened, but for its numbers, and is read piece by piece or whole; it is written piece by piece,
//! and appears whole or not at all.

mod array;
mod csv;
mod error;
mod npy;
mod output;
mod wav;

use std::fs::{self, File};
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ndarray::ArrayD;

use error::Trouble;

pub use array::{ArrayReader, ArrayWriter, Kind, Number, Stored};
pub use error::FileError;
pub use output::{OutputFile, standard_output_is_taken};
pub use wav::{Coding, Finished, RecordingReader, RecordingWriter, Sound};

/// An array in one of the types that the kernels compute with.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// 32-bit floats.
    F32(ArrayD<f32>),
    /// 64-bit floats.
    F64(ArrayD<f64>),
    /// 64-bit integers.
    I64(ArrayD<i64>),
}

impl Data {
    /// The shape, outermost dimension first.
    pub fn shape(&self) -> &[usize] {
        match self {
            Data::F32(array) => array.shape(),
            Data::F64(array) => array.shape(),
            Data::I64(array) => array.shape(),
        }
    }

    /// NumPy's name of the element type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Data::F32(_) => "float32",
            Data::F64(_) => "float64",
            Data::I64(_) => "int64",
        }
    }

    /// The elements as float64. Integers above 2⁵³ are rounded.
    pub fn to_f64(&self) -> ArrayD<f64> {
        match self {
            Data::F32(array) => array.mapv(f64::from),
            Data::F64(array) => array.clone(),
            Data::I64(array) => array.mapv(|value| value as f64),
        }
    }
}

/// The formats, told by the file name's extension.
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
        })
    }

    /// The format of an output at this place: `otherwise` of a stream whose name tells none.
    ///
    /// # Errors
    /// [`FileError::UnknownFormat`] of a file.
    pub fn of_output(path: &Path, place: &OutputFile, otherwise: Self) -> Result<Self, FileError> {
        match Self::by_name(path) {
            None if place.is_stream() => Ok(otherwise),
            _ => Self::of(path),
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

    /// The format of a stream that begins with these bytes.
    fn by_contents(bytes: &[u8]) -> Self {
        match bytes {
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Format::Npy,
            [b'R', b'I', b'F', b'F', ..]
            | [b'R', b'F', b'6', b'4', ..]
            | [b'B', b'W', b'6', b'4', ..] => Format::Wav,
            _ => Format::Csv,
        }
    }
}

/// Whether a path stands for standard input or output.
fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Where the bytes of numbers come from.
trait Source: Read + Seek + Send {}
impl<S: Read + Seek + Send> Source for S {}

/// Leaves out some elements.
fn skip(source: &mut dyn Source, elements: usize, element_bytes: usize) -> std::io::Result<()> {
    // A file's length fits in an i64.
    source.seek_relative((elements * element_bytes) as i64)
}

/// A file that is open to be read piece by piece.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    format: Format,
    /// The file's bytes, when it cannot be read a second time.
    kept: Option<Arc<[u8]>>,
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
    /// Opens a file of any of the formats, and checks all of it but the numbers themselves. `-` is standard input; the format of a
    /// stream whose name tells none is that of its first bytes.
    ///
    /// # Errors
    /// [`FileError`] with the path, what is wrong, and mostly what to do.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let system = |source| FileError::Read {
            path: path.to_owned(),
            source,
        };
        if is_standard(path) {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).map_err(system)?;
            let format = Format::by_contents(&bytes);
            return Self::begin(path, format, Some(bytes.into()));
        }
        let metadata = fs::metadata(path).map_err(system)?;
        if metadata.is_dir() {
            return Err(FileError::IsFolder {
                path: path.to_owned(),
            });
        }
        if metadata.is_file() {
            return Self::begin(path, Format::of(path)?, None);
        }
        let bytes = fs::read(path).map_err(system)?;
        let format = Format::by_name(path).unwrap_or_else(|| Format::by_contents(&bytes));
        Self::begin(path, format, Some(bytes.into()))
    }

    /// The same file from its beginning.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn again(&self) -> Result<Self, FileError> {
        Self::begin(&self.path, self.format, self.kept.clone())
    }

    fn begin(path: &Path, format: Format, kept: Option<Arc<[u8]>>) -> Result<Self, FileError> {
        let open = || -> Result<Contents, Trouble> {
            let (mut bytes, len): (Box<dyn Source>, u64) = match &kept {
                Some(bytes) => (Box::new(Cursor::new(Arc::clone(bytes))), bytes.len() as u64),
                None => {
                    let file = File::open(path)?;
                    let len = file.metadata()?.len();
                    (Box::new(BufReader::with_capacity(1 << 16, file)), len)
                }
            };
            Ok(match format {
                Format::Npy => Contents::Array(npy::open(bytes, len)?),
                Format::Wav => Contents::Recording(wav::open(bytes, len)?),
                // Text is read whole: nobody keeps what a machine's memory does not hold as text.
                Format::Csv => {
                    let mut text = Vec::new();
                    bytes.read_to_end(&mut text)?;
                    Contents::Array(csv::open(&text)?)
                }
            })
        };
        match open() {
            Ok(contents) => Ok(Self {
                path: path.to_owned(),
                format,
                kept,
                contents,
            }),
            Err(trouble) => Err(trouble.reading(path)),
        }
    }

    /// The file's name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file holds.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Reads the next numbers: elements of an array in row-major order, samples of a recording frame by frame. Numbers of
    /// another type are converted.
    ///
    /// # Errors
    /// The system's, samples that are not finite, and a file that became shorter.
    pub fn read<T: Number>(&mut self, values: &mut [T]) -> Result<(), FileError> {
        let read = match &mut self.contents {
            Contents::Array(array) => array.read(values),
            Contents::Recording(recording) => {
                let mut samples = vec![0.0; values.len()];
                recording.read(&mut samples).map(|()| {
                    for (value, sample) in values.iter_mut().zip(samples) {
                        *value = T::from_f64(sample);
                    }
                })
            }
        };
        read.map_err(|trouble| trouble.reading(&self.path))
    }

    /// Leaves out the next numbers.
    ///
    /// # Errors
    /// The system's.
    pub fn skip(&mut self, numbers: usize) -> Result<(), FileError> {
        let skipped = match &mut self.contents {
            Contents::Array(array) => array.skip(numbers),
            Contents::Recording(recording) => recording.skip(numbers),
        };
        skipped.map_err(|trouble| trouble.reading(&self.path))
    }

    /// Reads an array whole.
    ///
    /// # Errors
    /// Those of [`read`](Self::read). `None` of a recording.
    pub fn array(self) -> Result<Option<Data>, FileError> {
        self.whole(ArrayReader::read_all)
    }

    /// As [`array`](Self::array), with text of one row or one column as a matrix.
    ///
    /// # Errors
    /// Those of [`read`](Self::read). `None` of a recording.
    pub fn matrix(self) -> Result<Option<Data>, FileError> {
        self.whole(|array| array.into_matrix().read_all())
    }

    /// The type and the little-endian bytes of an array's elements.
    ///
    /// # Errors
    /// Those of [`read`](Self::read). `None` of a recording.
    pub fn bytes(self) -> Result<Option<(Stored, Vec<u8>)>, FileError> {
        self.whole(ArrayReader::into_bytes)
    }

    fn whole<T>(
        self,
        read: impl FnOnce(ArrayReader) -> Result<T, Trouble>,
    ) -> Result<Option<T>, FileError> {
        match self.contents {
            Contents::Array(array) => match read(array) {
                Ok(whole) => Ok(Some(whole)),
                Err(trouble) => Err(trouble.reading(&self.path)),
            },
            Contents::Recording(_) => Ok(None),
        }
    }
}
