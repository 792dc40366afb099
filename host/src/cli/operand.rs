//! Operands from files, their common type, and comparison with `--reference`.

use std::path::{Path, PathBuf};

use blockwise::Type;
use blockwise_ops::LaunchError;
use blockwise_ops::oracle::{Expected, Precision};
use blockwise_ops::pipeline;
use clap::Args;
use ndarray::{Array, Dimension};

use super::failure::Failure;
use super::report;
use crate::io::{self, ArrayReader, ArrayWriter, Contents, Format, OutputFile, Reader};

/// `--reference` and its tolerance.
#[derive(Args)]
pub(super) struct Reference {
    /// Compare the result with this file; exit code 1 if it differs
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,
    /// Allow |result - reference| <= ATOL + RTOL * |reference| instead of the bound that follows
    /// from both precisions and the additions on the longest path, for a sum or dot product those
    /// of a pairwise or blocked sum [default: 0 beside --atol]
    #[arg(long, requires = "reference", allow_negative_numbers = true, value_parser = non_negative)]
    rtol: Option<f64>,
    /// See --rtol [default: 0 beside --rtol]
    #[arg(long, requires = "reference", allow_negative_numbers = true, value_parser = non_negative)]
    atol: Option<f64>,
}

/// The largest relative error of one rounding to a type.
pub(super) fn unit_roundoff(stored: Type) -> f64 {
    match stored {
        Type::F16 => 2_f64.powi(-11),
        Type::F32 => f32::UNIT_ROUNDOFF,
        _ => f64::UNIT_ROUNDOFF,
    }
}

fn non_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("a finite number, zero or more".to_owned()),
    }
}

impl Reference {
    /// The reference's file.
    pub(super) fn path(&self) -> Option<&Path> {
        self.reference.as_deref()
    }

    /// `--rtol` and `--atol`, if either was given.
    pub(super) fn allowed(&self) -> Option<[f64; 2]> {
        let [rtol, atol] = [self.rtol, self.atol];
        (rtol.or(atol)).map(|_| [rtol.unwrap_or(0.0), atol.unwrap_or(0.0)])
    }

    /// The bound, if it was asked for.
    pub(super) fn asked_for(&self) -> Option<&'static str> {
        (self.rtol.or(self.atol)).map(|_| "--atol + --rtol * |reference|")
    }

    /// The reference's values with their tolerances: what was asked for, else the oracle's.
    /// `coarser` says how many times the reference's roundings are as large as the result's.
    pub(super) fn expected<D: Dimension>(
        &self,
        values: Array<f64, D>,
        oracle: Array<f64, D>,
        coarser: f64,
    ) -> Expected<D> {
        let tolerance = match (self.rtol, self.atol) {
            // The reference was rounded too, in its own precision and perhaps in another order of
            // summation.
            (None, None) => oracle * (1.0 + coarser),
            (rtol, atol) => {
                values.mapv(|value| atol.unwrap_or(0.0) + rtol.unwrap_or(0.0) * value.abs())
            }
        };
        let tolerance = tolerance.mapv(|tolerance| {
            if tolerance.is_finite() {
                tolerance
            } else {
                0.0
            }
        });
        Expected { values, tolerance }
    }
}

/// Opens a file, and says what a user should know of it.
pub(super) fn open(path: &Path) -> Result<Reader, Failure> {
    let reader = Reader::open(path)?;
    for notice in reader.notices() {
        report::notice(&format!("{}: {notice}", path.display()));
    }
    Ok(reader)
}

/// The array in a file that is open.
pub(super) fn contents(reader: &Reader) -> Result<&ArrayReader, Failure> {
    match reader.contents() {
        Contents::Array(array) => Ok(array),
        Contents::Recording(_) => Err(sound(reader.path())),
    }
}

/// The type and the little-endian bytes of the elements in a file that is open.
pub(super) fn elements(reader: Reader) -> Result<(Type, Vec<u8>), Failure> {
    let path = reader.path().to_owned();
    reader.bytes()?.ok_or_else(|| sound(&path))
}

/// A file to be read piece by piece, with its shape and the type of its elements. A recording has a
/// row for each frame; one channel is a vector.
pub(super) fn reader(path: &Path) -> Result<(Reader, Vec<usize>, Type), Failure> {
    let reader = open(path)?;
    let (shape, ty) = extents(&reader);
    Ok((reader, shape, ty))
}

/// The shape of what a file holds, and the type of its elements.
pub(super) fn extents(reader: &Reader) -> (Vec<usize>, Type) {
    match reader.contents() {
        Contents::Array(array) => (array.shape().to_vec(), array.computed()),
        Contents::Recording(recording) => {
            let sound = recording.sound();
            let shape = match sound.channels {
                1 => vec![recording.frames()],
                channels => vec![recording.frames(), usize::from(channels)],
            };
            (shape, sound.coding.computed())
        }
    }
}

/// What is wrong with the operand in a file.
pub(super) fn named(path: &Path, error: LaunchError) -> Failure {
    Failure::from(error).about(path)
}

/// An output that is no sound has nothing to do with a sample rate.
fn sound(path: &Path) -> Failure {
    Failure::new(format!(
        "{} is sound, and an array is wanted",
        path.display()
    ))
    .hint("save its samples as an array, `numpy.save('x.npy', scipy.io.wavfile.read('IN')[1])`; `conv` takes .wav files, and so do sums, means and extremes without `--axis`")
}

/// How many elements are worked on at a time.
#[derive(Args)]
pub(super) struct Chunk {
    /// Elements of each operand that are on the device at a time; what is longer goes through in
    /// chunks, so that memory does not limit a file's length
    #[arg(long, value_name = "ELEMENTS", default_value_t = pipeline::CHUNK, value_parser = at_least_one)]
    pub(super) chunk: usize,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(value) if value > 0 => Ok(value),
        _ => Err("a whole number, one or more".to_owned()),
    }
}

/// Says that results of integers may be rounded, where the sums of magnitudes may be this large.
pub(super) fn notice_of_integers(largest_sum: f64) {
    // 2⁵³: every smaller integer is a float64.
    if largest_sum > 9_007_199_254_740_992.0 {
        report::notice(
            "warning: integers are computed as float64, and sums above 2^53 = 9007199254740992, which these operands may have, are rounded",
        );
    }
}

/// A file has another shape than is wanted.
pub(super) fn other_shape(path: &Path, shape: &[usize], wanted: &str) -> Failure {
    let hint = match (wanted, shape) {
        ("a vector", [rows, cols]) if *rows == 1 || *cols == 1 => {
            "save it as a vector: `numpy.save(FILE, x.reshape(-1))`"
        }
        ("a vector", _) => "choose a row or a column of it, or save `x.reshape(-1)`, all in one",
        (_, [_]) => {
            "save it as a row, `numpy.save(FILE, x.reshape(1, -1))`, or as a column, `x.reshape(-1, 1)`"
        }
        _ => "save the part of it that is meant, `x[i]`, or reshape it",
    };
    let path = path.display();
    Failure::new(format!(
        "{path} has shape {shape:?}, and {wanted} is wanted"
    ))
    .hint(hint)
}

/// The other operand, for an error about one.
pub(super) fn beside(path: &Path, shape: &[usize]) -> String {
    format!("; {} has shape {shape:?}", path.display())
}

/// An output array's place and format.
pub(super) struct ArrayOutput {
    place: OutputFile,
    format: Format,
}

impl ArrayOutput {
    /// Takes the place before the computation.
    pub(super) fn prepare(path: &Path) -> Result<Self, Failure> {
        let place = OutputFile::prepare(path)?;
        let format = Format::of_output(path, &place, Format::Npy)?;
        if format == Format::Wav {
            return Err(io::FileError::Unwritable {
                path: path.to_owned(),
                reason: "only `conv` of a .wav signal gives a .wav output".to_owned(),
            }
            .into());
        }
        Ok(Self::new(place, format))
    }

    /// In a format that holds arrays.
    pub(super) fn new(place: OutputFile, format: Format) -> Self {
        Self { place, format }
    }

    /// Begins an array of this shape and type.
    pub(super) fn create(self, shape: &[usize], stored: Type) -> Result<ArrayWriter, Failure> {
        Ok(ArrayWriter::create(self.place, self.format, shape, stored)?)
    }
}
