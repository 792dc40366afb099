//! NumPy's `.npy`: float32, float64 and int64, little-endian, row-major.

use ndarray::{ArrayD, IxDyn};
use ndarray_npy::WriteNpyExt;
use py_literal::Value;

use super::Data;
use super::error::Problem;

const TYPES: &str = "float32 ('<f4'), float64 ('<f8') and int64 ('<i8') are supported";

/// A header that NumPy writes for an array of plain numbers has about 100 bytes.
const LONGEST_HEADER: usize = 4096;

/// Reads an array.
pub(super) fn decode(bytes: &[u8]) -> Result<Data, Problem> {
    let data_start = data_start(bytes)?;
    let header = Header::parse(&bytes[..data_start])?;
    let item = item_size(&header.descr)?;
    if header.fortran_order && header.shape.len() > 1 {
        return Err(Problem::new("the array is in Fortran order (column-major)")
            .hint("save numpy.ascontiguousarray(array)"));
    }
    let Header { descr, shape, .. } = header;
    let expected = size_in_bytes(&shape, item)?;
    let present = bytes.len() - data_start;
    if present != expected {
        let kind = if present < expected {
            "is truncated"
        } else {
            "has trailing bytes"
        };
        return Err(Problem::new(format!(
            "the file {kind}: shape {shape:?} of {descr} takes {expected} bytes, {present} are there"
        ))
        .hint("save or copy the file again"));
    }
    let (data, shape) = (&bytes[data_start..], IxDyn(&shape));
    let broken = |error: ndarray::ShapeError| Problem::new(error.to_string());
    Ok(match descr.as_str() {
        "<f4" => Data::F32(
            ArrayD::from_shape_vec(shape, numbers(data, f32::from_le_bytes)).map_err(broken)?,
        ),
        "<f8" => Data::F64(
            ArrayD::from_shape_vec(shape, numbers(data, f64::from_le_bytes)).map_err(broken)?,
        ),
        _ => Data::I64(
            ArrayD::from_shape_vec(shape, numbers(data, i64::from_le_bytes)).map_err(broken)?,
        ),
    })
}

/// The header's dictionary.
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        let broken = |reason: &str| Problem::new(format!("broken .npy header: {reason}"));
        let at = if bytes[6] == 1 { 10 } else { 12 };
        let text = std::str::from_utf8(&bytes[at..]).map_err(|_| broken("it is not text"))?;
        if text.len() > LONGEST_HEADER || text.matches(['(', '[', '{']).count() > 16 {
            return Err(broken(
                "it is longer or deeper than any array of plain numbers needs",
            ));
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
        })
    }
}

/// One dimension of a shape.
fn length(value: &Value) -> Option<usize> {
    value.as_integer()?.to_string().parse().ok()
}

/// Where the header ends. The format is: magic, version, length of the header, header (NumPy's `format.py`).
fn data_start(bytes: &[u8]) -> Result<usize, Problem> {
    let short = || Problem::new("the file is too short to be .npy");
    if bytes.is_empty() {
        return Err(Problem::new("the file is empty"));
    }
    if !bytes.starts_with(b"\x93NUMPY") {
        return Err(Problem::new(
            "this is no .npy file: it does not start with the magic bytes \\x93NUMPY",
        ));
    }
    let (at, length): (usize, _) = match bytes.get(6).ok_or_else(short)? {
        1 => (
            10,
            bytes
                .get(8..10)
                .map(|b| usize::from(u16::from_le_bytes([b[0], b[1]]))),
        ),
        2 | 3 => (
            12,
            bytes
                .get(8..12)
                .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize),
        ),
        version => {
            return Err(Problem::new(format!(
                ".npy version {version} is unknown; 1, 2 and 3 are supported"
            )));
        }
    };
    at.checked_add(length.ok_or_else(short)?)
        .filter(|&start| start <= bytes.len())
        .ok_or_else(|| Problem::new("the header is truncated"))
}

/// Bytes of an element of a supported type.
fn item_size(ty: &str) -> Result<usize, Problem> {
    match ty {
        "<f4" => Ok(4),
        "<f8" | "<i8" => Ok(8),
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

fn numbers<T, const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes
        .as_chunks::<N>()
        .0
        .iter()
        .map(|&chunk| number(chunk))
        .collect()
}

/// The bytes of an array's file.
pub(super) fn encode(data: &Data) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    match data {
        Data::F32(array) => array.write_npy(&mut bytes),
        Data::F64(array) => array.write_npy(&mut bytes),
        Data::I64(array) => array.write_npy(&mut bytes),
    }
    .map_err(|error| error.to_string())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

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

    #[track_caller]
    fn check_refused(bytes: &[u8], expected: &str) {
        let problem = decode(bytes).unwrap_err();
        let text = format!("{} {}", problem.what, problem.hint.unwrap_or(""));
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn arrays_come_back_as_written() {
        let matrix =
            Data::F32(array![[1.0_f32, -2.5, f32::NAN], [0.0, f32::INFINITY, 4.0]].into_dyn());
        let bytes = encode(&matrix).unwrap();
        let Data::F32(back) = decode(&bytes).unwrap() else {
            panic!("another type")
        };
        assert_eq!(back.shape(), [2, 3]);
        assert_eq!(back[[0, 1]], -2.5);
        assert!(back[[0, 2]].is_nan());
        for data in [
            Data::F64(array![0.1, 2.0].into_dyn()),
            Data::I64(array![i64::MIN, 7].into_dyn()),
            Data::F64(ArrayD::zeros(IxDyn(&[0]))),
        ] {
            assert_eq!(decode(&encode(&data).unwrap()).unwrap(), data);
        }
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
