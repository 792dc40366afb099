//! Arrays written into files piece by piece.

use std::io::{BufWriter, Write};

use blockwise::Type;
use half::f16;

use super::error::Defect;
use super::number::Number;
use super::output::Unfinished;
use super::{FileError, Format, OutputFile, csv, npy};

/// Elements that are converted at a time.
const PIECE: usize = 1 << 14;

/// An array being written to a file, which appears once all elements are written.
pub struct ArrayWriter {
    file: BufWriter<Unfinished>,
    format: Format,
    stored: Type,
    /// Numbers per line of text.
    columns: usize,
    /// Numbers written to the last line so far.
    column: usize,
}

impl ArrayWriter {
    /// Begins a file of `shape`, of elements of this type.
    ///
    /// # Errors
    /// A format that cannot hold such an array, and the system's errors.
    pub fn create(
        place: OutputFile,
        format: Format,
        shape: &[usize],
        stored: Type,
    ) -> Result<Self, FileError> {
        let mut file = place.create()?;
        let columns = match format {
            Format::Npy => (file.file().map_err(Defect::Io))
                .and_then(|writable| npy::write_header(writable, shape, stored))
                .and_then(|len| Ok(file.reserve(len).map(|()| 1)?)),
            Format::Csv => (csv::columns(shape).map_err(Defect::Unwritable)).and_then(|columns| {
                if shape.contains(&0) {
                    file.write_all(csv::empty(shape).as_bytes())?;
                }
                Ok(columns)
            }),
            Format::Wav => Err(Defect::Unwritable(
                "an array has no sample rate: only a .wav signal gives a .wav output".to_owned(),
            )),
        };
        match columns {
            Ok(columns) => Ok(Self {
                file: BufWriter::with_capacity(1 << 16, file),
                format,
                stored,
                columns,
                column: 0,
            }),
            Err(error) => Err(error.writing(file.path())),
        }
    }

    /// Writes the next elements, in row-major order. The file's type has all of them.
    ///
    /// # Errors
    /// The system's.
    pub fn write<T: Number>(&mut self, values: &[T]) -> Result<(), FileError> {
        let written = match self.format {
            Format::Csv => csv::write(&mut self.file, values, self.columns, &mut self.column),
            _ if cfg!(target_endian = "little") && self.stored == T::STORED => {
                self.file.write_all(bytemuck::cast_slice(values))
            }
            _ => values.chunks(PIECE).try_for_each(|values| {
                let mut bytes = Vec::new();
                for &value in values {
                    value.append(self.stored, &mut bytes);
                }
                self.file.write_all(&bytes)
            }),
        };
        written.map_err(|error| self.file.get_ref().refused(error))
    }

    /// Writes the next elements by their bytes, which are aligned for the file's own type.
    ///
    /// # Errors
    /// The system's.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        /// Nearly all machines have the file's byte order.
        const NATIVE: bool = cfg!(target_endian = "little");
        let Self {
            file,
            format,
            stored,
            columns,
            column,
        } = self;
        let written = if *format != Format::Csv && NATIVE {
            file.write_all(bytes)
        } else if *format != Format::Csv {
            (bytes.chunks_exact(stored.bytes())).try_for_each(|element| {
                let swapped: Vec<u8> = element.iter().rev().copied().collect();
                file.write_all(&swapped)
            })
        } else {
            launch_contract::for_type!(*stored, T => {
                let values: &[T] = bytemuck::cast_slice(bytes);
                csv::write(file, values, *columns, column)
            }, else match *stored {
                Type::F16 => {
                    let words: &[u16] = bytemuck::cast_slice(bytes);
                    let values = words.iter().map(|&bits| f16::from_bits(bits).to_f32());
                    csv::write(file, &values.collect::<Vec<_>>(), *columns, column)
                }
                _ => csv::write(file, bytes, *columns, column),
            })
        };
        written.map_err(|error| self.file.get_ref().refused(error))
    }

    /// Puts the file in place.
    ///
    /// # Errors
    /// The system's error; an existing file is then unchanged.
    pub fn finish(self) -> Result<(), FileError> {
        super::output::finish(self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Contents, Reader};
    use super::*;

    /// Writes a file piece by piece, and reads back its shape and numbers.
    fn written<T: Number>(name: &str, shape: &[usize], pieces: &[&[T]]) -> (Vec<usize>, Vec<T>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let place = OutputFile::prepare(&path).unwrap();
        let format = Format::of(&path).unwrap();
        let mut writer = ArrayWriter::create(place, format, shape, T::STORED).unwrap();
        for piece in pieces {
            writer.write(piece).unwrap();
        }
        assert!(!path.exists(), "it is not whole yet");
        writer.finish().unwrap();
        let mut reader = Reader::open(&path).unwrap();
        let Contents::Array(array) = reader.contents() else {
            panic!("sound");
        };
        assert_eq!(array.computed(), T::STORED);
        let shape = array.shape().to_vec();
        let mut values = vec![T::zeroed(); shape.iter().product()];
        reader.read(&mut values).unwrap();
        (shape, values)
    }

    #[test]
    fn arrays_come_back_as_they_were_written_piece_by_piece() {
        assert_eq!(
            written("m.npy", &[2, 3], &[&[1.0_f32, -2.5], &[0.0, 4.0, 5.0, 6.0]]),
            (vec![2, 3], vec![1.0, -2.5, 0.0, 4.0, 5.0, 6.0])
        );
        assert_eq!(
            written("v.npy", &[2], &[&[i64::MIN], &[7]]),
            (vec![2], vec![i64::MIN, 7])
        );
        assert_eq!(written::<f64>("none.npy", &[0], &[]), (vec![0], Vec::new()));
        for shape in [&[0][..], &[0, 3], &[2, 0]] {
            assert_eq!(
                written::<f64>("none.csv", shape, &[]),
                (shape.to_vec(), Vec::new())
            );
        }
        assert_eq!(
            written("i.csv", &[2], &[&[i64::MIN + 1], &[7]]),
            (vec![2], vec![i64::MIN + 1, 7])
        );
        assert_eq!(
            written("m.csv", &[2, 2], &[&[0.1], &[2.0, -3.0], &[1e300]]),
            (vec![2, 2], vec![0.1, 2.0, -3.0, 1e300])
        );
        assert_eq!(
            written("v.csv", &[3], &[&[0.1, 2.0], &[7.0]]),
            (vec![3], vec![0.1, 2.0, 7.0])
        );
    }

    #[test]
    fn numbers_are_written_as_the_type_that_they_come_from() {
        fn check<T: Number + PartialEq>(stored: Type, values: &[T]) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.npy");
            let place = OutputFile::prepare(&path).unwrap();
            let mut writer =
                ArrayWriter::create(place, Format::Npy, &[values.len()], stored).unwrap();
            writer.write(&values[..1]).unwrap();
            writer.write(&values[1..]).unwrap();
            writer.finish().unwrap();
            let reader = Reader::open(&path).unwrap();
            let (of, bytes) = reader.bytes().unwrap().unwrap();
            assert_eq!((of, bytes.len()), (stored, values.len() * stored.bytes()));
            let mut read = vec![T::zeroed(); values.len()];
            let mut reader = Reader::open(&path).unwrap();
            reader.read(&mut read).unwrap();
            assert!(read == values, "{stored:?}: {read:?}");
        }
        check(Type::Bool, &[1_i64, 0]);
        check(Type::I8, &[-128_i64, 127]);
        check(Type::U8, &[0_i64, 255]);
        check(Type::I16, &[-32_768_i64, 32_767]);
        check(Type::U16, &[1_i64, 65_535]);
        check(Type::I32, &[-1_i64, i32::MIN.into()]);
        check(Type::U32, &[7_i64, u32::MAX.into()]);
        check(Type::U64, &[7_i64, i64::MAX]);
        check(
            Type::F16,
            &[0.1_f32, 65_504.0].map(|x| half::f16::from_f32(x).to_f32()),
        );
        check(Type::F16, &[f32::INFINITY, -0.0]);
        check(Type::F64, &[0.1_f64, f64::MIN_POSITIVE]);
    }

    #[test]
    fn what_a_format_cannot_hold_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for (name, shape) in [("a.csv", vec![1, 2, 3]), ("a.wav", vec![3])] {
            let path = folder.path().join(name);
            let place = OutputFile::prepare(&path).unwrap();
            let format = Format::of(&path).unwrap();
            assert!(ArrayWriter::create(place, format, &shape, Type::F64).is_err());
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
}
