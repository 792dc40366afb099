//! The element types.

use core::fmt;
use core::str::FromStr;

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// One byte: false is 0, true is 1.
    Bool,
    /// 8-bit integers.
    I8,
    /// 16-bit integers.
    I16,
    /// 32-bit integers.
    I32,
    /// 64-bit integers.
    I64,
    /// Unsigned 8-bit integers.
    U8,
    /// Unsigned 16-bit integers.
    U16,
    /// Unsigned 32-bit integers.
    U32,
    /// Unsigned 64-bit integers.
    U64,
    /// IEEE 754 binary16.
    F16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

impl Type {
    /// Every type.
    pub const ALL: [Self; 12] = [
        Self::Bool,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F16,
        Self::F32,
        Self::F64,
    ];

    /// Bytes of an element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Rust's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// NumPy's name.
    pub const fn numpy(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
            Self::F16 => "float16",
            Self::F32 => "float32",
            Self::F64 => "float64",
        }
    }

    /// Whether it is a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// Whether it is an integer type with negative numbers.
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Type {
    type Err = UnknownType;

    /// By Rust's name.
    fn from_str(name: &str) -> Result<Self, UnknownType> {
        let named = |ty: &Self| ty.name() == name;
        Self::ALL.into_iter().find(named).ok_or(UnknownType)
    }
}

/// A name that no type has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownType;

impl fmt::Display for UnknownType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the element types are")?;
        for (at, ty) in Type::ALL.iter().enumerate() {
            write!(f, "{} {ty}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownType {}

/// Evaluates an expression with a [`Type`]'s own Rust type under a name: `for_type!(ty, T => size_of::<T>(), else 0)`.
/// `else` is for `bool` and `f16`, which are bytes and 16-bit words here.
#[macro_export]
macro_rules! for_type {
    ($ty:expr, $T:ident => $body:expr, else $other:expr) => {
        $crate::for_type!(@ $ty, $T, $body, $other;
            I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64)
    };
    (@ $ty:expr, $T:ident, $body:expr, $other:expr; $($Variant:ident $t:ty),*) => {
        match $ty {
            $($crate::Type::$Variant => {
                type $T = $t;
                $body
            })*
            $crate::Type::Bool | $crate::Type::F16 => $other,
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_parsed_back() {
        for ty in Type::ALL {
            assert_eq!(ty.name().parse(), Ok(ty));
            let bits: usize = ty.name()[1..].parse().unwrap_or(8);
            assert_eq!(ty.bytes() * 8, bits, "{ty}");
        }
        assert_eq!("int8".parse::<Type>(), Err(UnknownType));
    }

    #[test]
    fn a_body_sees_the_type() {
        for ty in Type::ALL {
            let bytes = crate::for_type!(ty, T => size_of::<T>(), else ty.bytes());
            assert_eq!(bytes, ty.bytes());
        }
    }
}
