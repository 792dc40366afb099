//! Arrays in files, read piece by piece.

use blockwise::Type;

use super::bytes::Bytes;
use super::error::{Defect, Problem};
use super::number::{self, Number};
use super::pieces;

/// Elements that one thread reads at a time.
const PIECE: usize = 1 << 18;

/// The error for an integer that the type to compute with cannot represent.
fn rounded<T: Number>(at: usize, value: i128) -> Defect {
    match T::STORED {
        Type::I64 => Problem::new(format!(
            "element {at} is {value}, and integers are computed as int64"
        ))
        .hint("split it: `array >> 32` and `array & 0xffffffff` fit int64"),
        _ => Problem::new(format!(
            "element {at} is {value}, and is computed as float64, which would round it to {:.0}",
            value as f64
        ))
        .hint("split it: the result of `array >> 32`, times 2^32, and that of `array & 0xffffffff` add up to this one"),
    }
    .into()
}

/// An array whose elements are read in order, as many at a time as the caller's buffer holds.
#[derive(Clone)]
pub struct ArrayReader {
    shape: Vec<usize>,
    /// Rows and columns of a vector that is written as a matrix of one row or one column.
    as_matrix: Option<[usize; 2]>,
    stored: Type,
    bytes: Bytes,
    /// The offset of the first element, in bytes.
    start: u64,
    /// The number of elements read so far.
    at: usize,
    /// What a user should know of the file.
    notices: Vec<String>,
}

impl ArrayReader {
    /// From `start` on, `bytes` are the elements in row-major order, little-endian.
    pub(super) fn new(shape: Vec<usize>, stored: Type, bytes: Bytes, start: u64) -> Self {
        Self {
            shape,
            as_matrix: None,
            stored,
            bytes,
            start,
            at: 0,
            notices: Vec::new(),
        }
    }

    /// The same with what a user should know of the file.
    pub(super) fn with_notices(self, notices: Vec<String>) -> Self {
        Self { notices, ..self }
    }

    /// What a user should know of the file.
    pub(super) fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The same array, which may also be used as a matrix of one row or one column.
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
    pub fn computed(&self) -> Type {
        number::computed(self.stored)
    }

    /// The type in the file.
    pub fn stored(&self) -> Type {
        self.stored
    }

    /// Turns a vector that is written as one row or one column into a matrix.
    pub(super) fn into_matrix(mut self) -> Self {
        if let Some(shape) = self.as_matrix {
            self.shape = shape.to_vec();
        }
        self
    }

    /// Reads the next elements as numbers of another type, or the same.
    pub(super) fn read<T: Number>(&mut self, values: &mut [T]) -> Result<(), Defect> {
        pieces::fill(values, PIECE, |first, values| {
            self.read_piece(self.at + first, values)
        })?;
        self.at += values.len();
        Ok(())
    }

    /// Reads the next elements in this type, the file's or one that holds each of them, into their
    /// bytes, which are aligned for it.
    pub(super) fn read_as(&mut self, ty: Type, bytes: &mut [u8]) -> Result<(), Defect> {
        if ty == self.stored && cfg!(target_endian = "little") {
            let start = self.place(self.at);
            self.at += bytes.len() / ty.bytes();
            return Ok(pieces::fill(bytes, PIECE, |first, bytes| {
                self.bytes.read_exact_at(start + first as u64, bytes)
            })?);
        }
        match ty {
            Type::F32 => self.read::<f32>(bytemuck::cast_slice_mut(bytes)),
            Type::F64 => self.read::<f64>(bytemuck::cast_slice_mut(bytes)),
            // Unsigned numbers have the same bytes.
            Type::I64 | Type::U64 => self.read::<i64>(bytemuck::cast_slice_mut(bytes)),
            _ => Err(Problem::new(format!(
                "elements of {} are not converted to {}",
                self.stored.numpy(),
                ty.numpy()
            ))
            .into()),
        }
    }

    /// Reads the elements from the one with index `at` on.
    fn read_piece<T: Number>(&self, at: usize, values: &mut [T]) -> Result<(), Defect> {
        macro_rules! integers {
            ($t:ty) => {
                self.convert(at, values, |at, bytes| {
                    let value = <$t>::from_le_bytes(bytes).into();
                    T::from_i64(value).ok_or_else(|| rounded::<T>(at, value.into()))
                })
            };
        }
        match self.stored {
            stored if cfg!(target_endian = "little") && stored == T::STORED => {
                let bytes = bytemuck::cast_slice_mut(values);
                Ok(self.bytes.read_exact_at(self.place(at), bytes)?)
            }
            Type::Bool => self.convert(at, values, |at, [byte]| {
                let value = (byte != 0).into();
                T::from_i64(value).ok_or_else(|| rounded::<T>(at, value.into()))
            }),
            Type::I8 => integers!(i8),
            Type::I16 => integers!(i16),
            Type::I32 => integers!(i32),
            Type::I64 => integers!(i64),
            Type::U8 => integers!(u8),
            Type::U16 => integers!(u16),
            Type::U32 => integers!(u32),
            Type::U64 => self.convert(at, values, |at, bytes| {
                let value = u64::from_le_bytes(bytes);
                T::from_u64(value).ok_or_else(|| rounded::<T>(at, value.into()))
            }),
            Type::F16 => self.convert(at, values, |_, bytes| {
                Ok(T::from_f32(half::f16::from_le_bytes(bytes).to_f32()))
            }),
            Type::F32 => self.convert(at, values, |_, bytes| {
                Ok(T::from_f32(f32::from_le_bytes(bytes)))
            }),
            Type::F64 => self.convert(at, values, |_, bytes| {
                Ok(T::from_f64(f64::from_le_bytes(bytes)))
            }),
        }
    }

    /// Converts the elements from the one with index `at` on; `number` gets each one's index and
    /// bytes.
    fn convert<T, const N: usize>(
        &self,
        at: usize,
        values: &mut [T],
        number: impl Fn(usize, [u8; N]) -> Result<T, Defect>,
    ) -> Result<(), Defect> {
        super::convert(&self.bytes, self.place(at), at, values, number)
    }

    /// The offset of an element, in bytes.
    fn place(&self, element: usize) -> u64 {
        self.start + element as u64 * self.stored.bytes() as u64
    }

    /// Skips the next elements.
    pub(super) fn skip(&mut self, elements: usize) {
        self.at += elements;
    }

    /// The same, rewound to the first element.
    pub(super) fn again(&self) -> Self {
        Self {
            at: 0,
            ..self.clone()
        }
    }

    /// The bytes of all elements, little-endian, and their type.
    pub(super) fn into_bytes(self) -> Result<(Type, Vec<u8>), Defect> {
        let mut bytes = zeros(self.shape.iter().product::<usize>() * self.stored.bytes())?;
        pieces::fill(&mut bytes, PIECE, |first, bytes| {
            self.bytes.read_exact_at(self.start + first as u64, bytes)
        })?;
        Ok((self.stored, bytes))
    }
}

/// Room for an array's numbers. That their count fits was checked with the header.
fn zeros<T: bytemuck::Pod>(len: usize) -> Result<Vec<T>, Problem> {
    let mut values = Vec::new();
    values.try_reserve_exact(len).map_err(|_| {
        Problem::new(format!(
            "the host has no memory for the {len} elements of the file"
        ))
    })?;
    values.resize(len, T::zeroed());
    Ok(values)
}

impl std::fmt::Debug for ArrayReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ArrayReader({:?}, {:?})", self.shape, self.stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_in_pieces_and_converted() {
        let bytes: Vec<u8> = (0..40_000_i64).flat_map(i64::to_le_bytes).collect();
        let mut reader = ArrayReader::new(vec![40_000], Type::I64, bytes.into(), 0);
        let mut values = vec![0.0_f64; 30_000];
        reader.read(&mut values[..1]).unwrap();
        assert_eq!(values[0], 0.0);
        reader.read(&mut values).unwrap();
        assert_eq!((values[0], values[29_999]), (1.0, 30_000.0));
        reader.read(&mut values[..9_999]).unwrap();
        assert_eq!(values[9_998], 39_999.0);
        assert!(matches!(
            reader.read(&mut values[..1]),
            Err(Defect::Content(problem)) if problem.what.contains("shorter")
        ));
    }

    #[test]
    fn several_threads_read_what_one_would() {
        const LEN: usize = 2 * PIECE + 1;
        let byte = |index: usize| (index * 7 + index / PIECE) as u8;
        let bytes: Vec<u8> = (0..LEN + 2).map(byte).collect();
        let mut reader = ArrayReader::new(vec![LEN], Type::U8, bytes.into(), 2);
        let mut values = vec![0_i64; LEN];
        reader.read(&mut values).unwrap();
        let expected = (2..).map(byte).map(i64::from);
        assert!(expected.zip(&values).all(|(a, &b)| a == b));
        // The same type is not converted.
        let floats: Vec<f32> = (0..LEN).map(|index| index as f32).collect();
        let bytes: Vec<u8> = floats
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let mut reader = ArrayReader::new(vec![LEN], Type::F32, bytes.into(), 0);
        reader.skip(1);
        let mut values = vec![0.0_f32; LEN - 1];
        reader.read(&mut values).unwrap();
        assert!(values == floats[1..]);
        let (_, again) = reader.again().into_bytes().unwrap();
        assert!(again == bytemuck::cast_slice::<f32, u8>(&floats));
    }

    #[test]
    fn a_file_that_becomes_shorter_is_an_error_wherever_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.f64");
        for left in [0, 1, PIECE, 2 * PIECE - 1] {
            let file = std::fs::File::create_new(&path).unwrap();
            file.set_len(16 * PIECE as u64).unwrap();
            let bytes = Bytes::File(std::sync::Arc::new(std::fs::File::open(&path).unwrap()));
            let mut reader = ArrayReader::new(vec![2 * PIECE], Type::F64, bytes, 0);
            file.set_len(8 * left as u64 + 4).unwrap();
            let mut values = vec![1.0_f64; 2 * PIECE];
            assert!(matches!(
                reader.read(&mut values),
                Err(Defect::Content(problem)) if problem.what.contains("shorter")
            ));
            std::fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn the_first_number_that_does_not_fit_is_named() {
        let mut numbers = vec![1_u64; 2 * PIECE];
        for at in [2 * PIECE - 1, PIECE, PIECE - 1] {
            numbers[at] = u64::MAX;
            let bytes: Vec<u8> = numbers
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect();
            let mut reader = ArrayReader::new(vec![2 * PIECE], Type::U64, bytes.into(), 0);
            let Err(Defect::Content(problem)) = reader.read(&mut vec![0_i64; 2 * PIECE]) else {
                panic!("{at} is read");
            };
            assert!(
                problem.what.starts_with(&format!("element {at} ")),
                "{}",
                problem.what
            );
        }
    }
}
