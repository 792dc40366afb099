//! Types of elements, and how their values are written.

use std::fmt;
use std::str::FromStr;

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// An unsigned integer of N bytes.
    Unsigned(u32),
    /// A signed integer of N bytes.
    Signed(u32),
    /// A float of 4 or 8 bytes.
    Float(u32),
}

/// A value that expressions compute with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Evaluated {
    Integer(i128),
    /// An `f32`.
    Single(f32),
    /// An `f64`, or a literal of either width.
    Float(f64),
    Bool(bool),
}

impl Element {
    /// Its size in bytes.
    pub fn size(self) -> u32 {
        let (Self::Unsigned(size) | Self::Signed(size) | Self::Float(size)) = self;
        size
    }

    /// The value of its bytes, lowest first.
    pub(crate) fn value(self, bytes: &[u8]) -> Evaluated {
        let mut low = [0; 8];
        let count = bytes.len().min(8);
        low[..count].copy_from_slice(&bytes[..count]);
        let bits = u64::from_le_bytes(low);
        match self {
            Self::Unsigned(_) => Evaluated::Integer(bits.into()),
            Self::Signed(size) => {
                let unused = 64 - 8 * size.clamp(1, 8);
                Evaluated::Integer(((bits << unused) as i64 >> unused).into())
            }
            Self::Float(4) => Evaluated::Single(f32::from_bits(bits as u32)),
            Self::Float(_) => Evaluated::Float(f64::from_bits(bits)),
        }
    }
}

impl Element {
    /// The least and the greatest value of an integer type.
    pub(crate) fn range(self) -> (i128, i128) {
        let bits = 8 * self.size().min(8);
        match self {
            Self::Signed(_) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            _ => (0, (1 << bits) - 1),
        }
    }
}

impl Evaluated {
    /// Its type in Rust's words, where there is only one.
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Self::Integer(_) => "integer",
            Self::Single(_) => "f32",
            Self::Float(_) => "f64",
            Self::Bool(_) => "bool",
        }
    }

    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Single(value) => value.into(),
            Self::Bool(value) => f64::from(u8::from(value)),
            Self::Float(value) => value,
        }
    }

    /// As text; an integer also in hexadecimal.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Integer(value) if value > 9 => format!("{value} ({value:#x})"),
            value => value.to_string(),
        }
    }
}

impl fmt::Display for Evaluated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Single(value) => write!(f, "{value:?}"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Unsigned(_) => 'u',
            Self::Signed(_) => 'i',
            Self::Float(_) => 'f',
        };
        write!(f, "{kind}{}", 8 * self.size())
    }
}

impl FromStr for Element {
    type Err = String;

    /// `u8` to `u64`, `i8` to `i64`, `f32`, `f64`; `usize` and `isize` as on the device.
    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "u8" | "bool" => Ok(Self::Unsigned(1)),
            "u16" => Ok(Self::Unsigned(2)),
            "u32" => Ok(Self::Unsigned(4)),
            "u64" | "usize" => Ok(Self::Unsigned(8)),
            "i8" => Ok(Self::Signed(1)),
            "i16" => Ok(Self::Signed(2)),
            "i32" => Ok(Self::Signed(4)),
            "i64" | "isize" => Ok(Self::Signed(8)),
            "f32" => Ok(Self::Float(4)),
            "f64" => Ok(Self::Float(8)),
            _ => Err(format!(
                "`{name}` is no element type; there are u8 to u64, i8 to i64, f32 and f64"
            )),
        }
    }
}
