//! Arrays written into files piece by piece.

use std::io::{BufWriter, Write};

use super::error::Defect;
use super::number::{Kind, Number};
use super::output::Unfinished;
use super::{FileError, Format, OutputFile, csv, npy};

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
            Format::Npy => (file.file().map_err(Defect::Io))
                .and_then(|writable| npy::write_header(writable, shape, kind))
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
                columns,
            }),
            Err(error) => Err(error.writing(file.path())),
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
    use super::super::Data;
    use super::*;
    use ndarray::{ArrayD, IxDyn, array};

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
        for shape in [&[0][..], &[0, 3], &[2, 0]] {
            assert_eq!(
                written::<f64>("none.csv", shape, &[]),
                Data::F64(ArrayD::zeros(IxDyn(shape)))
            );
        }
        assert_eq!(
            written("i.csv", &[2], &[&[i64::MIN + 1], &[7]]),
            Data::I64(array![i64::MIN + 1, 7].into_dyn())
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
