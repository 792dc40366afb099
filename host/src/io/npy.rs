//! NumPy's `.npy`: float32, float64 and int64, little-endian, row-major.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use ndarray::IxDyn;
use ndarray_npy::{WriteNpyError, write_zeroed_npy};
use py_literal::Value;

use super::array::{ArrayReader, Kind};
use super::error::{Problem, Trouble};

const TYPES: &str = "float32 ('<f4'), float64 ('<f8') and int64 ('<i8') are supported";

/// A header that NumPy writes for an array of plain numbers has about 100 bytes.
const LONGEST_HEADER: u64 = 4096;

const TOO_LONG: &str = "it is longer or deeper than any array of plain numbers needs";

/// Opens an array of `len` bytes in all, and checks all of it but the elements themselves.
pub(super) fn open(mut bytes: Box<dyn Read + Send>, len: u64) -> Result<ArrayReader, Trouble> {
    let header = Header::read(&mut bytes, len)?;
    let kind = kind_of(&header.descr)?;
    if header.fortran_order && header.shape.len() > 1 {
        return Err(Problem::new("the array is in Fortran order (column-major)")
            .hint("save numpy.ascontiguousarray(array)")
            .into());
    }
    let Header { descr, shape, .. } = header;
    let expected = size_in_bytes(&shape, kind.bytes())? as u64;
    let present = len - header.bytes;
    if present != expected {
        let kind = if present < expected {
            "is truncated"
        } else {
            "has trailing bytes"
        };
        return Err(Problem::new(format!(
            "the file {kind}: shape {shape:?} of {descr} takes {expected} bytes, {present} are there"
        ))
        .hint("save or copy the file again")
        .into());
    }
    Ok(ArrayReader::new(shape, kind, bytes))
}

/// The header's dictionary.
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
    /// How many bytes of the file come before the elements.
    bytes: u64,
}

impl Header {
    /// Reads the header of a file of `len` bytes. The format is: magic, version, length of the dictionary, dictionary (NumPy's
    /// `format.py`).
    fn read(bytes: &mut dyn Read, len: u64) -> Result<Self, Trouble> {
        let short = || Problem::new("the file is too short to be .npy");
        let mut start = Vec::new();
        bytes.take(8).read_to_end(&mut start)?;
        if start.is_empty() {
            return Err(Problem::new("the file is empty").into());
        }
        if !start.starts_with(b"\x93NUMPY") {
            return Err(Problem::new(
                "this is no .npy file: it does not start with the magic bytes \\x93NUMPY",
            )
            .into());
        }
        let digits = match start.get(6).ok_or_else(short)? {
            1 => 2,
            2 | 3 => 4,
            version => {
                return Err(Problem::new(format!(
                    ".npy version {version} is unknown; 1, 2 and 3 are supported"
                ))
                .into());
            }
        };
        let mut length = Vec::new();
        bytes.take(digits).read_to_end(&mut length)?;
        if (start.len() + length.len()) as u64 != 8 + digits {
            return Err(short().into());
        }
        length.resize(4, 0);
        let length = u64::from(u32::from_le_bytes([
            length[0], length[1], length[2], length[3],
        ]));
        let end = 8 + digits + length;
        if end > len {
            return Err(Problem::new("the header is truncated").into());
        }
        if length > LONGEST_HEADER {
            return Err(Problem::new(format!("broken .npy header: {TOO_LONG}")).into());
        }
        let mut text = Vec::new();
        bytes.take(length).read_to_end(&mut text)?;
        Ok(Self {
            bytes: end,
            ..Self::parse(&text)?
        })
    }

    /// The dictionary.
    fn parse(text: &[u8]) -> Result<Self, Problem> {
        let broken = |reason: &str| Problem::new(format!("broken .npy header: {reason}"));
        let text = std::str::from_utf8(text).map_err(|_| broken("it is not text"))?;
        if text.matches(['(', '[', '{']).count() > 16 {
            return Err(broken(TOO_LONG));
        }
        let Ok(Value::Dict(entries)) = text.trim_end().parse::<Value>() else {
            return Err(broken("it is no Python dictionary"));
        };
        let entry = |name: &str| {
            let found = entries
                .iter()
                .find(|(key, _)| key.as_string().is_some_and(|key| key == name));
            found
                .map(|(_, value)| value)
                .ok_or_else(|| broken(&format!("it has no '{name}'")))
        };
        let descr = match entry("descr")? {
            Value::String(descr) => descr.clone(),
            _ => {
                return Err(Problem::new(format!("elements are records; {TYPES}"))
                    .hint("save one field as an array of its own"));
            }
        };
        let fortran_order = entry("fortran_order")?
            .as_boolean()
            .ok_or_else(|| broken("'fortran_order' is neither True nor False"))?;
        let shape = match entry("shape")? {
            Value::Tuple(lengths) => lengths.iter().map(length).collect::<Option<Vec<_>>>(),
            _ => None,
        };
        let shape = shape.ok_or_else(|| {
            broken("'shape' is no tuple of lengths that this machine can address")
        })?;
        Ok(Header {
            descr,
            fortran_order,
            shape,
            bytes: 0,
        })
    }
}

/// One dimension of a shape.
fn length(value: &Value) -> Option<usize> {
    value.as_integer()?.to_string().parse().ok()
}

/// The element type of NumPy's name, if it is supported.
fn kind_of(ty: &str) -> Result<Kind, Problem> {
    match ty {
        "<f4" => Ok(Kind::F32),
        "<f8" => Ok(Kind::F64),
        "<i8" => Ok(Kind::I64),
        _ if ty.starts_with('>') => Err(Problem::new(format!(
            "elements are big-endian ('{ty}'); {TYPES}"
        ))
        .hint("save array.astype(array.dtype.newbyteorder('<'))")),
        _ if ty.contains('O') => Err(Problem::new(format!(
            "elements are Python objects ('{ty}'); {TYPES}"
        ))
        .hint("save array.astype('<f8')")),
        _ => Err(
            Problem::new(format!("element type '{ty}' is not supported; {TYPES}"))
                .hint("save array.astype('<f8')"),
        ),
    }
}

/// The size of an array's data, if it can exist.
fn size_in_bytes(shape: &[usize], item: usize) -> Result<usize, Problem> {
    let product = |mut lengths: std::slice::Iter<'_, usize>| {
        lengths.try_fold(item, |bytes, &length| bytes.checked_mul(length))
    };
    // Zero-length dimensions do not excuse the others.
    let others: Vec<usize> = shape
        .iter()
        .copied()
        .filter(|&length| length != 0)
        .collect();
    match (product(others.iter()), product(shape.iter())) {
        (Some(largest), Some(bytes)) if isize::try_from(largest).is_ok() => Ok(bytes),
        _ => Err(Problem::new(format!(
            "shape {shape:?} is larger than this machine can address"
        ))),
    }
}

/// Writes the header of an array, and leaves the file at its end.
pub(super) fn write_header(file: &mut File, shape: &[usize], kind: Kind) -> Result<(), Trouble> {
    let bytes = size_in_bytes(shape, kind.bytes())? as u64;
    let shape = IxDyn(shape);
    match kind {
        Kind::F32 => write_zeroed_npy::<f32, _>(file, shape),
        Kind::F64 => write_zeroed_npy::<f64, _>(file, shape),
        Kind::I64 => write_zeroed_npy::<i64, _>(file, shape),
    }
    .map_err(|error| match error {
        WriteNpyError::Io(error) => Trouble::Io(error),
        error => Problem::new(error.to_string()).into(),
    })?;
    // The elements are written over the zeros, which take no room where the file system knows holes.
    let end = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(end - bytes))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn header(ty: &str, fortran: &str, shape: &str) -> String {
        format!("{{'descr': {ty}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
    }

    fn decode(bytes: &[u8]) -> Result<ArrayReader, Trouble> {
        open(
            Box::new(std::io::Cursor::new(bytes.to_vec())),
            bytes.len() as u64,
        )
    }

    #[track_caller]
    fn check_refused(bytes: &[u8], expected: &str) {
        let Err(Trouble::Content(problem)) = decode(bytes) else {
            panic!("not refused: {expected}")
        };
        let text = format!("{} {}", problem.what, problem.hint.unwrap_or(""));
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn what_is_not_supported_is_named_with_the_way_out() {
        check_refused(
            &npy(&header("'<f8'", "True", "(2, 2)"), &[0; 32]),
            "ascontiguousarray",
        );
        check_refused(
            &npy(&header("'>f8'", "False", "(2,)"), &[0; 16]),
            "big-endian ('>f8')",
        );
        check_refused(
            &npy(&header("'|O'", "False", "(2,)"), &[0; 16]),
            "Python objects",
        );
        check_refused(
            &npy(&header("'<f2'", "False", "(2,)"), &[0; 4]),
            "'<f2' is not supported",
        );
        check_refused(
            &npy(&header("[('x', '<f8')]", "False", "(2,)"), &[0; 16]),
            "records",
        );
    }

    #[test]
    fn broken_files_are_errors() {
        let good = npy(&header("'<f8'", "False", "(2,)"), &[0; 16]);
        assert!(decode(&good).is_ok());
        check_refused(&[], "empty");
        check_refused(b"RIFF....", "magic");
        check_refused(&good[..9], "too short");
        check_refused(&good[..30], "truncated");
        check_refused(
            &good[..good.len() - 1],
            "truncated: shape [2] of <f8 takes 16 bytes, 15 are there",
        );
        check_refused(&[&good[..], b"x"].concat(), "trailing");
        check_refused(&npy("{'descr': '<f8'", &[]), "broken .npy header");
        check_refused(
            &npy(&header("'<f8'", "False", "(4294967296, 4294967296)"), &[]),
            "larger than",
        );
        check_refused(
            &npy(
                &header("'<f8'", "False", "(0, 9223372036854775807, 9)"),
                &[],
            ),
            "larger than",
        );
        for cut in 0..good.len() {
            assert!(decode(&good[..cut]).is_err(), "cut at {cut}");
        }
    }
}
