//! The header of a `.npy` file: a Python dictionary with the elements' type, order and shape.

use std::fs::File;
use std::io::{Read, Write};

use blockwise::Type;

use super::literal::{Broken, Literal};
use crate::io::error::{Defect, Problem};
use crate::io::number::descr;

/// The first bytes of a file.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

const TYPES: &str = "booleans, integers of 8 to 64 bits and floats of 16 to 64 are supported";

/// NumPy writes some 100 bytes for an array of plain numbers, and refuses to read more than 10,000
/// unless asked to.
const LONGEST_HEADER: u64 = 1 << 20;

/// The elements begin at a multiple of this many bytes.
pub(super) const ALIGNMENT: usize = 64;

const TOO_LONG: &str = "it is longer or deeper than any array needs";

/// The header's dictionary.
pub(super) struct Header {
    pub(super) descr: String,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<usize>,
    /// Number of bytes before the elements.
    pub(super) bytes: u64,
}

impl Header {
    /// Reads the header of a file of `len` bytes. The format is: magic, version, length of the
    /// dictionary, dictionary (NumPy's `format.py`).
    pub(super) fn read(bytes: &mut dyn Read, len: u64) -> Result<Self, Defect> {
        let short = || Problem::new("the file is too short to be .npy");
        let mut start = Vec::new();
        bytes.take(8).read_to_end(&mut start)?;
        if start.is_empty() {
            return Err(Problem::new("the file is empty").into());
        }
        if !start.starts_with(MAGIC) {
            return Err(Problem::new(
                "this is no .npy file: it does not start with the magic bytes \\x93NUMPY",
            )
            .hint("in Python: `numpy.save('x.npy', array)`")
            .into());
        }
        let version = start.get(6).ok_or_else(short)?;
        let digits = match version {
            1 => 2,
            2 | 3 => 4,
            &version => {
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
            ..Self::parse(&text, *version)?
        })
    }

    /// The dictionary. Its text is Latin-1 in versions 1 and 2, and UTF-8 in version 3.
    fn parse(text: &[u8], version: u8) -> Result<Self, Problem> {
        let broken = |reason: &str| Problem::new(format!("broken .npy header: {reason}"));
        let text = match version {
            1 | 2 => text.iter().map(|&byte| char::from(byte)).collect(),
            _ => String::from_utf8(text.to_vec()).map_err(|_| broken("it is not UTF-8"))?,
        };
        let entries = match Literal::parse(&text) {
            Ok(Literal::Dictionary(entries)) => entries,
            Err(Broken::Deep) => return Err(broken(TOO_LONG)),
            _ => return Err(broken("it is no Python dictionary")),
        };
        let entry = |name: &str| {
            let is_named =
                |(key, _): &&(Literal, Literal)| matches!(key, Literal::Text(key) if key == name);
            let mut found = entries.iter().filter(is_named).map(|(_, value)| value);
            let first = found
                .next()
                .ok_or_else(|| broken(&format!("it has no '{name}'")))?;
            // Python takes the last one, other programs the first.
            match found.all(|value| value == first) {
                true => Ok(first),
                false => Err(broken(&format!("it has '{name}' twice, with two values"))),
            }
        };
        let descr = match entry("descr")? {
            Literal::Text(descr) => descr.clone(),
            Literal::List(_) => {
                return Err(Problem::new(format!("elements are records; {TYPES}"))
                    .hint("save each field as an array of its own: `array['name']`"));
            }
            _ => return Err(broken("'descr' is neither a name nor a list")),
        };
        let &Literal::Bool(fortran_order) = entry("fortran_order")? else {
            return Err(broken("'fortran_order' is neither True nor False"));
        };
        let shape = match entry("shape")? {
            Literal::Tuple(lengths) => lengths.iter().map(length).collect::<Option<Vec<_>>>(),
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
fn length(value: &Literal) -> Option<usize> {
    match value {
        Literal::Integer(digits) => digits.parse().ok(),
        _ => None,
    }
}

/// The element type for NumPy's name, and whether it is big-endian.
pub(super) fn stored(ty: &str) -> Result<(Type, bool), Problem> {
    let unsupported = || {
        let kind = ty.trim_start_matches(['<', '>', '=', '|']);
        let (what, hint) = match kind.chars().next() {
            Some('c') => (
                "elements are complex numbers",
                "save `array.real` and `array.imag` as arrays of their own",
            ),
            Some('O') => (
                "elements are Python objects",
                "save numbers: `numpy.array(array.tolist())` has a type of numbers if all of them are",
            ),
            Some('M' | 'm') => (
                "elements are times",
                "save them as integers in their own unit: `array.astype('<i8')`",
            ),
            Some('U' | 'S' | 'a') => (
                "elements are text",
                "save numbers: `array.astype(float)` reads texts that are numbers",
            ),
            Some('V') => (
                "elements are records or raw bytes",
                "save each field as an array of its own, `array['name']`; of two bytes they may be bfloat16: `array.astype('<f4')` before it is saved",
            ),
            Some('f' | 'g') => (
                "elements are floats of another width",
                "`array.astype('<f8')` rounds them to 53 bits",
            ),
            _ => (
                "elements are of an unknown type",
                "save an array of numbers",
            ),
        };
        Problem::new(format!("{what} ('{ty}'); {TYPES}")).hint(hint)
    };
    // Other programs write the longer names, which NumPy reads.
    // `=` is the byte order of the machine that wrote the file; it is taken as little-endian.
    let (order, name) = match ty.split_at_checked(1).ok_or_else(unsupported)? {
        (order @ ("<" | ">" | "=" | "|"), name) => (order, name),
        _ => ("=", ty),
    };
    let big_endian = order == ">";
    let stored = match name {
        "b1" | "?" | "bool" => Type::Bool,
        "i1" | "b" | "int8" => Type::I8,
        "i2" | "h" | "int16" => Type::I16,
        "i4" | "i" | "int32" => Type::I32,
        "i8" | "q" | "int64" => Type::I64,
        "u1" | "B" | "uint8" => Type::U8,
        "u2" | "H" | "uint16" => Type::U16,
        "u4" | "I" | "uint32" => Type::U32,
        "u8" | "Q" | "uint64" => Type::U64,
        "f2" | "e" | "float16" => Type::F16,
        "f4" | "f" | "float32" => Type::F32,
        "f8" | "d" | "float64" => Type::F64,
        _ => return Err(unsupported()),
    };
    Ok((stored, big_endian))
}

/// The size of an array's data in bytes, if memory can hold it.
pub(super) fn size_in_bytes(shape: &[usize], item: usize) -> Result<usize, Problem> {
    let product = |mut lengths: std::slice::Iter<'_, usize>| {
        lengths.try_fold(item, |bytes, &length| bytes.checked_mul(length))
    };
    // The other dimensions must be possible even if one is zero.
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

/// Writes the header of an array, leaves the file at its end, and returns the length of the whole.
pub(in crate::io) fn write_header(
    file: &mut File,
    shape: &[usize],
    stored: Type,
) -> Result<u64, Defect> {
    let bytes = size_in_bytes(shape, stored.bytes())? as u64;
    let header = header(shape, stored);
    file.write_all(&header)?;
    let end = header.len() as u64 + bytes;
    // The elements are written over zeros, which take no space if the file system supports holes.
    file.set_len(end)?;
    Ok(end)
}

/// The bytes before the elements.
pub(super) fn header(shape: &[usize], stored: Type) -> Vec<u8> {
    let descr = descr(stored);
    // A tuple of one has a comma.
    let shape: String = match shape {
        [len] => format!("{len},"),
        shape => (shape.iter().map(usize::to_string))
            .collect::<Vec<_>>()
            .join(", "),
    };
    let dictionary =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    let rest = |digits: usize| {
        let start = MAGIC.len() + 2 + digits;
        (start + dictionary.len() + 1).next_multiple_of(ALIGNMENT) - start
    };
    let mut bytes = MAGIC.to_vec();
    let rest = match u16::try_from(rest(2)) {
        Ok(rest) => {
            bytes.extend([1, 0]);
            bytes.extend(rest.to_le_bytes());
            usize::from(rest)
        }
        // There are thousands of dimensions.
        Err(_) => {
            bytes.extend([2, 0]);
            bytes.extend((rest(4) as u32).to_le_bytes());
            rest(4)
        }
    };
    let end = bytes.len() + rest;
    bytes.extend(dictionary.bytes());
    bytes.resize(end - 1, b' ');
    bytes.push(b'\n');
    bytes
}
