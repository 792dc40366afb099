//! Files with arrays: `.npy`, `.csv`, `.wav`.
//!
//! A file is read whole and checked before anything is computed; a file is written whole or not at all.

mod csv;
mod error;
mod npy;
mod output;
mod wav;

use std::fs;
use std::path::Path;

use ndarray::ArrayD;

pub use error::FileError;
pub use output::OutputFile;
pub use wav::{Recording, encode as encode_wav};

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

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// An array.
    Array(Data),
    /// Sound.
    Recording(Recording),
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
        let extension = path
            .extension()
            .map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref() {
            Some("npy") => Ok(Format::Npy),
            Some("csv") => Ok(Format::Csv),
            Some("wav") => Ok(Format::Wav),
            _ => Err(FileError::UnknownFormat {
                path: path.to_owned(),
            }),
        }
    }
}

/// Reads a file of any of the formats.
///
/// # Errors
/// [`FileError`] with the path, what is wrong, and mostly what to do.
pub fn read(path: &Path) -> Result<Content, FileError> {
    let format = Format::of(path)?;
    let system = |source| FileError::Read {
        path: path.to_owned(),
        source,
    };
    if fs::metadata(path).map_err(system)?.is_dir() {
        return Err(FileError::IsFolder {
            path: path.to_owned(),
        });
    }
    let bytes = fs::read(path).map_err(system)?;
    match format {
        Format::Npy => npy::decode(&bytes).map(Content::Array),
        Format::Csv => csv::decode(&bytes).map(Content::Array),
        Format::Wav => wav::decode(&bytes).map(Content::Recording),
    }
    .map_err(|problem| FileError::Content {
        path: path.to_owned(),
        problem,
    })
}

/// The bytes of an array file.
///
/// # Errors
/// A text why the format cannot hold this array.
pub fn encode(data: &Data, format: Format) -> Result<Vec<u8>, String> {
    match format {
        Format::Npy => npy::encode(data),
        Format::Csv => csv::encode(data),
        Format::Wav => {
            Err("an array has no sample rate: only a .wav signal gives a .wav output".to_owned())
        }
    }
}
