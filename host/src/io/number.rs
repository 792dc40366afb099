//! The types of elements: in files, and those that are computed with.

use blockwise::Type;

/// The type that a file's elements are computed in: `f32`, `f64` or `i64`, which represents every
/// number of the file's type but the largest of `u64`.
pub(super) fn computed(stored: Type) -> Type {
    match stored {
        Type::F16 | Type::F32 => Type::F32,
        Type::F64 => Type::F64,
        _ => Type::I64,
    }
}

/// NumPy's name of a type in the header of a little-endian file.
pub(super) fn descr(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "|b1",
        Type::I8 => "|i1",
        Type::I16 => "<i2",
        Type::I32 => "<i4",
        Type::I64 => "<i8",
        Type::U8 => "|u1",
        Type::U16 => "<u2",
        Type::U32 => "<u4",
        Type::U64 => "<u8",
        Type::F16 => "<f2",
        Type::F32 => "<f4",
        Type::F64 => "<f8",
    }
}

/// A type that elements of files are read into and written from: `f32`, `f64` or `i64`.
pub trait Number: bytemuck::Pod + Send + Sync + std::fmt::Debug {
    /// This type, as a [`Type`].
    const STORED: Type;

    /// The nearest number of this type. From `f32` to `f64` the conversion is exact.
    fn from_f32(value: f32) -> Self;
    /// See [`from_f32`](Self::from_f32).
    fn from_f64(value: f64) -> Self;
    /// The same integer; `None` if this type cannot represent it.
    fn from_i64(value: i64) -> Option<Self>;
    /// See [`from_i64`](Self::from_i64).
    fn from_u64(value: u64) -> Option<Self>;
    /// Appends the number's bytes as type `stored`, little-endian. That type must be able to
    /// represent it.
    fn append(self, stored: Type, bytes: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($number:ident: $Type:ident;)*) => { $(
        impl Number for $number {
            const STORED: Type = Type::$Type;

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

            fn append(self, stored: Type, bytes: &mut Vec<u8>) {
                match stored {
                    Type::F16 => {
                        bytes.extend(half::f16::from_f64(self as f64).to_le_bytes());
                    }
                    Type::F32 => bytes.extend((self as f32).to_le_bytes()),
                    Type::F64 => bytes.extend((self as f64).to_le_bytes()),
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
