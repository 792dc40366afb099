//! The types of elements: in files, and those that are computed with.

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
    /// The same type in files.
    pub(super) fn stored(self) -> Stored {
        match self {
            Kind::F32 => Stored::F32,
            Kind::F64 => Stored::F64,
            Kind::I64 => Stored::I64,
        }
    }
}

impl From<Kind> for Stored {
    fn from(kind: Kind) -> Self {
        kind.stored()
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

    /// Rust's name of it.
    pub fn short_name(self) -> &'static str {
        match self {
            Stored::Bool => "bool",
            Stored::I8 => "i8",
            Stored::I16 => "i16",
            Stored::I32 => "i32",
            Stored::I64 => "i64",
            Stored::U8 => "u8",
            Stored::U16 => "u16",
            Stored::U32 => "u32",
            Stored::U64 => "u64",
            Stored::F16 => "f16",
            Stored::F32 => "f32",
            Stored::F64 => "f64",
        }
    }

    /// NumPy's name of it in the header of a little-endian file.
    pub(super) fn descr(self) -> &'static str {
        match self {
            Stored::Bool => "|b1",
            Stored::I8 => "|i1",
            Stored::I16 => "<i2",
            Stored::I32 => "<i4",
            Stored::I64 => "<i8",
            Stored::U8 => "|u1",
            Stored::U16 => "<u2",
            Stored::U32 => "<u4",
            Stored::U64 => "<u8",
            Stored::F16 => "<f2",
            Stored::F32 => "<f4",
            Stored::F64 => "<f8",
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
pub trait Number: bytemuck::Pod + Send + Sync + std::fmt::Debug {
    /// The type in files.
    const KIND: Kind;

    /// The nearest number of this type. From `f32` to `f64` nothing is lost.
    fn from_f32(value: f32) -> Self;
    /// See [`from_f32`](Self::from_f32).
    fn from_f64(value: f64) -> Self;
    /// The same integer; `None` if this type does not have it.
    fn from_i64(value: i64) -> Option<Self>;
    /// See [`from_i64`](Self::from_i64).
    fn from_u64(value: u64) -> Option<Self>;
    /// Appends the number's bytes as this type, little-endian. It must have the number.
    fn append(self, stored: Stored, bytes: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($number:ident: $kind:ident;)*) => { $(
        impl Number for $number {
            const KIND: Kind = Kind::$kind;

            fn from_f32(value: f32) -> Self {
                value as Self
            }

            fn from_f64(value: f64) -> Self {
                value as Self
            }

            fn from_i64(value: i64) -> Option<Self> {
                let number = value as Self;
                (number as i128 == i128::from(value)).then_some(number)
            }

            fn from_u64(value: u64) -> Option<Self> {
                let number = value as Self;
                (number as i128 == i128::from(value)).then_some(number)
            }

            fn append(self, stored: Stored, bytes: &mut Vec<u8>) {
                match stored {
                    Stored::F16 => {
                        bytes.extend(half::f16::from_f64(self as f64).to_le_bytes());
                    }
                    Stored::F32 => bytes.extend((self as f32).to_le_bytes()),
                    Stored::F64 => bytes.extend((self as f64).to_le_bytes()),
                    // The low bytes are the same with and without a sign.
                    _ => bytes.extend(&(self as i64).to_le_bytes()[..stored.bytes()]),
                }
            }
        }
    )* };
}
numbers! {
    f32: F32;
    f64: F64;
    i64: I64;
}
