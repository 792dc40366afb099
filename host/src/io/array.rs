//! Arrays in files, read and written piece by piece.

use std::io::{BufWriter, Write};

use ndarray::{ArrayD, IxDyn};

use super::error::{Problem, Trouble};
use super::output::Unfinished;
use super::{Data, FileError, Format, OutputFile, Source, csv, npy, skip};

/// A type that is computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
    /// 64-bit integers.
    I64,
}

impl Kind {
    /// Bytes of an element.
    pub(super) fn bytes(self) -> usize {
        match self {
            Kind::F32 => 4,
            Kind::F64 | Kind::I64 => 8,
        }
    }
}

/// A type of elements in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// False is 0, true is 1.
    Bool,
    /// 8-bit integers.
    I8,
    /// 16-bit integers.
    I16,
    /// 32-bit integers.
    I32,
    /// 64-bit integers.
    I64,
    /// 8-bit integers without a sign.
    U8,
    /// 16-bit integers without a sign.
    U16,
    /// 32-bit integers without a sign.
    U32,
    /// 64-bit integers without a sign.
    U64,
    /// 16-bit floats.
    F16,
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
}

impl Stored {
    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self {
            Stored::Bool | Stored::I8 | Stored::U8 => 1,
            Stored::I16 | Stored::U16 | Stored::F16 => 2,
            Stored::I32 | Stored::U32 | Stored::F32 => 4,
            Stored::I64 | Stored::U64 | Stored::F64 => 8,
        }
    }

    /// NumPy's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Stored::Bool => "bool",
            Stored::I8 => "int8",
            Stored::I16 => "int16",
            Stored::I32 => "int32",
            Stored::I64 => "int64",
            Stored::U8 => "uint8",
            Stored::U16 => "uint16",
            Stored::U32 => "uint32",
            Stored::U64 => "uint64",
            Stored::F16 => "float16",
            Stored::F32 => "float32",
            Stored::F64 => "float64",
        }
    }

    /// The type that holds every number of this one but the largest of [`U64`](Self::U64).
    pub fn kind(self) -> Kind {
        match self {
            Stored::F16 | Stored::F32 => Kind::F32,
            Stored::F64 => Kind::F64,
            _ => Kind::I64,
        }
    }
}

/// A type that elements of files are read into and written from: `f32`, `f64` or `i64`.
pub trait Number: bytemuck::Pod + std::fmt::Debug {
    /// The type in files.
    const KIND: Kind;

    /// The nearest number of this type. From `f32` to `f64` nothing is lost, from `i64` what is above 2⁵³.
    fn from_f32(value: f32) -> Self;
    /// See [`from_f32`](Self::from_f32).
    fn from_f64(value: f64) -> Self;
    /// See [`from_f32`](Self::from_f32).
    fn from_i64(value: i64) -> Self;
    /// See [`from_f32`](Self::from_f32). `None` of what is above `i64`'s range, as an integer.
    fn from_u64(value: u64) -> Option<Self>;
}

macro_rules! numbers {
    ($($number:ident: $kind:ident, $from_u64:expr;)*) => { $(
        impl Number for $number {
            const KIND: Kind = Kind::$kind;

            fn from_f32(value: f32) -> Self {
                value as Self
            }

            fn from_f64(value: f64) -> Self {
                value as Self
            }

            fn from_i64(value: i64) -> Self {
                value as Self
            }

            fn from_u64(value: u64) -> Option<Self> {
                $from_u64(value)
            }
        }
    )* };
}
numbers! {
    f32: F32, |value| Some(value as f32);
    f64: F64, |value| Some(value as f64);
    i64: I64, |value| i64::try_from(value).ok();
}

/// An array whose elements are read in order, as many at a time as there is room for.
pub struct ArrayReader {
    shape: Vec<usize>,
    /// Rows and columns of a vector that is written as a matrix of one row or one column.
    as_matrix: Option<[usize; 2]>,
    stored: Stored,
    elements: Box<dyn Source>,
    /// Elements that were read.
    at: usize,
}

impl ArrayReader {
    /// `elements` are those of the array in row-major order, little-endian.
    pub(super) fn new(shape: Vec<usize>, stored: Stored, elements: Box<dyn Source>) -> Self {
        Self {
            shape,
            as_matrix: None,
            stored,
            elements,
            at: 0,
        }
    }

    /// The same array, which also is a matrix of one row or one column.
    pub(super) fn with_matrix(self, rows_and_columns: [usize; 2]) -> Self {
        Self {
            as_matrix: Some(rows_and_columns),
            ..self
        }
    }

    /// The shape, outermost dimension first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The type to compute with.
    pub fn kind(&self) -> Kind {
        self.stored.kind()
    }

    /// Makes a matrix of a vector that is written as one row or one column.
    pub(super) fn into_matrix(mut self) -> Self {
        if let Some(shape) = self.as_matrix {
            self.shape = shape.to_vec();
        }
        self
    }

    /// Reads the next elements as numbers of another type, or the same.
    pub(super) fn read<T: Number>(&mut self, values: &mut [T]) -> Result<(), Trouble> {
        macro_rules! integers {
            ($t:ty) => {
                self.convert(values, |bytes| {
                    T::from_i64(<$t>::from_le_bytes(bytes).into())
                })
            };
        }
        match self.stored {
            Stored::Bool => self.convert(values, |[byte]| T::from_i64((byte != 0).into())),
            Stored::I8 => integers!(i8),
            Stored::I16 => integers!(i16),
            Stored::I32 => integers!(i32),
            Stored::I64 => integers!(i64),
            Stored::U8 => integers!(u8),
            Stored::U16 => integers!(u16),
            Stored::U32 => integers!(u32),
            Stored::U64 => self.read_u64(values),
            Stored::F16 => self.convert(values, |bytes| {
                T::from_f32(half::f16::from_le_bytes(bytes).to_f32())
            }),
            Stored::F32 => self.convert(values, |bytes| T::from_f32(f32::from_le_bytes(bytes))),
            Stored::F64 => self.convert(values, |bytes| T::from_f64(f64::from_le_bytes(bytes))),
        }
    }

    fn read_u64<T: Number>(&mut self, values: &mut [T]) -> Result<(), Trouble> {
        let (mut too_large, mut at) = (None, self.at);
        self.convert(values, |bytes| {
            let value = u64::from_le_bytes(bytes);
            at += 1;
            T::from_u64(value).unwrap_or_else(|| {
                too_large.get_or_insert((at - 1, value));
                T::zeroed()
            })
        })?;
        match too_large {
            None => Ok(()),
            Some((at, value)) => Err(Problem::new(format!(
                "element {at} is {value}, and integers are computed as int64"
            ))
            .hint("save array.astype('<f8')")
            .into()),
        }
    }

    fn convert<T, const N: usize>(
        &mut self,
        values: &mut [T],
        mut number: impl FnMut([u8; N]) -> T,
    ) -> Result<(), Trouble> {
        const PIECE: usize = 1 << 16;
        let mut bytes = vec![0; PIECE.min(values.len() * N)];
        for piece in values.chunks_mut(PIECE / N) {
            let bytes = &mut bytes[..piece.len() * N];
            self.elements.read_exact(bytes)?;
            for (value, &bytes) in piece.iter_mut().zip(bytes.as_chunks::<N>().0) {
                *value = number(bytes);
            }
            self.at += piece.len();
        }
        Ok(())
    }

    /// Leaves out the next elements.
    pub(super) fn skip(&mut self, elements: usize) -> Result<(), Trouble> {
        skip(&mut *self.elements, elements, self.stored.bytes())?;
        self.at += elements;
        Ok(())
    }

    /// All elements.
    pub(super) fn read_all(mut self) -> Result<Data, Trouble> {
        Ok(match self.kind() {
            Kind::F32 => Data::F32(self.array()?),
            Kind::F64 => Data::F64(self.array()?),
            Kind::I64 => Data::I64(self.array()?),
        })
    }

    /// The bytes of all elements, little-endian, and their type.
    pub(super) fn into_bytes(mut self) -> Result<(Stored, Vec<u8>), Trouble> {
        let mut bytes = Vec::new();
        self.elements.read_to_end(&mut bytes)?;
        Ok((self.stored, bytes))
    }

    fn array<T: Number>(&mut self) -> Result<ArrayD<T>, Trouble> {
        // That the product fits was checked with the header.
        let mut values = Vec::new();
        let len = self.shape.iter().product();
        values.try_reserve_exact(len).map_err(|_| {
            Problem::new(format!(
                "the host has no memory for the {len} elements of the file"
            ))
        })?;
        values.resize(len, T::zeroed());
        self.read(&mut values)?;
        ArrayD::from_shape_vec(IxDyn(&self.shape), values)
            .map_err(|error| Problem::new(error.to_string()).into())
    }
}

impl std::fmt::Debug for ArrayReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ArrayReader({:?}, {:?})", self.shape, self.stored)
    }
}

/// An array on its way into a file, which appears when all elements are written.
pub struct ArrayWriter {
    file: BufWriter<Unfinished>,
    format: Format,
    /// Numbers of a line of text.
    columns: usize,
}

impl ArrayWriter {
    /// Begins a file of `shape`, of elements of `kind`.
    ///
    /// # Errors
    /// A format that cannot hold such an array, and the system's errors.
    pub fn create(
        place: OutputFile,
        format: Format,
        shape: &[usize],
        kind: Kind,
    ) -> Result<Self, FileError> {
        let mut file = place.create()?;
        let columns = match format {
            Format::Npy => (file.file().map_err(Trouble::Io))
                .and_then(|file| npy::write_header(file, shape, kind))
                .map(|()| 1),
            Format::Csv => csv::columns(shape).map_err(Trouble::Unwritable),
            Format::Wav => Err(Trouble::Unwritable(
                "an array has no sample rate: only a .wav signal gives a .wav output".to_owned(),
            )),
        };
        match columns {
            Ok(columns) => Ok(Self {
                file: BufWriter::with_capacity(1 << 16, file),
                format,
                columns,
            }),
            Err(trouble) => Err(trouble.writing(file.path())),
        }
    }

    /// Writes the next elements, in row-major order; in text, whole rows of a matrix.
    ///
    /// # Errors
    /// The system's.
    pub fn write<T: Number>(&mut self, values: &[T]) -> Result<(), FileError> {
        let written = match self.format {
            Format::Csv => csv::write(&mut self.file, values, self.columns),
            _ if cfg!(target_endian = "little") => {
                self.file.write_all(bytemuck::cast_slice(values))
            }
            _ => values.iter().try_for_each(|value| {
                let mut bytes = bytemuck::bytes_of(value).to_vec();
                bytes.reverse();
                self.file.write_all(&bytes)
            }),
        };
        written.map_err(|error| self.file.get_ref().refused(error))
    }

    /// Puts the file in place.
    ///
    /// # Errors
    /// The system's; then the destination is as it was.
    pub fn finish(self) -> Result<(), FileError> {
        super::output::finish(self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn written<T: Number>(name: &str, shape: &[usize], pieces: &[&[T]]) -> Data {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let place = OutputFile::prepare(&path).unwrap();
        let format = Format::of(&path).unwrap();
        let mut writer = ArrayWriter::create(place, format, shape, T::KIND).unwrap();
        for piece in pieces {
            writer.write(piece).unwrap();
        }
        assert!(!path.exists(), "it is not whole yet");
        writer.finish().unwrap();
        let reader = super::super::Reader::open(&path).unwrap();
        reader.array().unwrap().unwrap()
    }

    #[test]
    fn arrays_come_back_as_they_were_written_piece_by_piece() {
        let matrix = written("m.npy", &[2, 3], &[&[1.0_f32, -2.5], &[0.0, 4.0, 5.0, 6.0]]);
        let expected = array![[1.0_f32, -2.5, 0.0], [4.0, 5.0, 6.0]].into_dyn();
        assert_eq!(matrix, Data::F32(expected));
        assert_eq!(
            written("v.npy", &[2], &[&[i64::MIN], &[7]]),
            Data::I64(array![i64::MIN, 7].into_dyn())
        );
        assert_eq!(
            written::<f64>("none.npy", &[0], &[]),
            Data::F64(ArrayD::zeros(IxDyn(&[0])))
        );
        assert_eq!(
            written("m.csv", &[2, 2], &[&[0.1, 2.0], &[-3.0, 1e300]]),
            Data::F64(array![[0.1, 2.0], [-3.0, 1e300]].into_dyn())
        );
        assert_eq!(
            written("v.csv", &[3], &[&[0.1, 2.0], &[7.0]]),
            Data::F64(array![0.1, 2.0, 7.0].into_dyn())
        );
    }

    #[test]
    fn elements_are_read_in_pieces_and_converted() {
        let bytes: Vec<u8> = (0..40_000_i64).flat_map(i64::to_le_bytes).collect();
        let elements = Box::new(std::io::Cursor::new(bytes));
        let mut reader = ArrayReader::new(vec![40_000], Stored::I64, elements);
        let mut values = vec![0.0_f64; 30_000];
        reader.read(&mut values[..1]).unwrap();
        assert_eq!(values[0], 0.0);
        reader.read(&mut values).unwrap();
        assert_eq!((values[0], values[29_999]), (1.0, 30_000.0));
        reader.read(&mut values[..9_999]).unwrap();
        assert_eq!(values[9_998], 39_999.0);
        assert!(matches!(
            reader.read(&mut values[..1]),
            Err(Trouble::Content(problem)) if problem.what.contains("shorter")
        ));
    }

    #[test]
    fn what_a_format_cannot_hold_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for (name, shape) in [("a.csv", vec![1, 2, 3]), ("a.wav", vec![3])] {
            let path = folder.path().join(name);
            let place = OutputFile::prepare(&path).unwrap();
            let format = Format::of(&path).unwrap();
            assert!(ArrayWriter::create(place, format, &shape, Kind::F64).is_err());
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
}
