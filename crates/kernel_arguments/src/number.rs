//! The number types that kernels take, and the bytes of their values.

use rand::{RngExt, rngs::StdRng};
use std::fmt;
use std::str::FromStr;

macro_rules! numbers {
    ($($(#[$doc:meta])* $number:ident = $name:literal,)*) => {
        /// A number type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Number {
            $($(#[$doc])* $number,)*
        }

        impl Number {
            /// Its name in Rust.
            pub fn name(self) -> &'static str {
                match self { $(Number::$number => $name,)* }
            }
        }

        impl FromStr for Number {
            type Err = String;

            fn from_str(name: &str) -> Result<Self, String> {
                match name {
                    $($name => Ok(Number::$number),)*
                    _ => Err(format!("`{name}` is none of {}", [$($name),*].join(", "))),
                }
            }
        }
    };
}

numbers! {
    /// 8 bits.
    U8 = "u8",
    /// 16 bits.
    U16 = "u16",
    /// 32 bits.
    U32 = "u32",
    /// 64 bits.
    U64 = "u64",
    /// 8 bits with a sign.
    I8 = "i8",
    /// 16 bits with a sign.
    I16 = "i16",
    /// 32 bits with a sign.
    I32 = "i32",
    /// 64 bits with a sign.
    I64 = "i64",
    /// 32-bit floats.
    F32 = "f32",
    /// 64-bit floats.
    F64 = "f64",
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `$body` with `$T` as the integer type, or one of the other two.
macro_rules! for_type {
    ($number:expr, $T:ident => $body:expr) => {
        for_type!($number, $T => $body, f32 => $body, f64 => $body)
    };
    ($number:expr, $T:ident => $body:expr, f32 => $f32:expr, f64 => $f64:expr) => {
        match $number {
            Number::U8 => { type $T = u8; $body }
            Number::U16 => { type $T = u16; $body }
            Number::U32 => { type $T = u32; $body }
            Number::U64 => { type $T = u64; $body }
            Number::I8 => { type $T = i8; $body }
            Number::I16 => { type $T = i16; $body }
            Number::I32 => { type $T = i32; $body }
            Number::I64 => { type $T = i64; $body }
            Number::F32 => { #[allow(dead_code)] type $T = f32; $f32 }
            Number::F64 => { #[allow(dead_code)] type $T = f64; $f64 }
        }
    };
}

impl Number {
    /// Bytes per value.
    pub fn size(self) -> usize {
        for_type!(self, T => size_of::<T>())
    }

    /// Whether it is a float.
    pub fn is_float(self) -> bool {
        matches!(self, Number::F32 | Number::F64)
    }

    /// The bytes of a number in text form.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(self, text: &str) -> Result<Vec<u8>, String> {
        let float = || format!("`{text}` is no number");
        for_type!(self,
            T => T::try_from(integer(text)?)
                .map(|value| value.to_le_bytes().to_vec())
                .map_err(|_| format!("`{text}` is not between {} and {}", T::MIN, T::MAX)),
            f32 => text.parse::<f32>().map(|value| value.to_le_bytes().to_vec()).map_err(|_| float()),
            f64 => text.parse::<f64>().map(|value| value.to_le_bytes().to_vec()).map_err(|_| float()))
    }

    /// Appends the elements with these indices of 0, 1, 2, …, wrapping.
    pub(crate) fn iota(self, indices: std::ops::Range<usize>, to: &mut Vec<u8>) {
        for_type!(self, T => indices.for_each(|index| to.extend((index as T).to_le_bytes())))
    }

    /// Appends random numbers: floats between −1 and 1; integers over their whole range, but below
    /// 1000 in magnitude.
    pub(crate) fn random(self, count: usize, random: &mut StdRng, to: &mut Vec<u8>) {
        for_type!(self,
            T => {
                let (low, high) = (T::MIN as i128, T::MAX as i128);
                for _ in 0..count {
                    let value = random.random_range(low.max(-999)..=high.min(999));
                    to.extend((value as T).to_le_bytes());
                }
            },
            f32 => (0..count).for_each(|_| to.extend(random.random_range(-1.0_f32..1.0).to_le_bytes())),
            f64 => (0..count).for_each(|_| to.extend(random.random_range(-1.0_f64..1.0).to_le_bytes())))
    }
}

/// A decimal or hexadecimal integer, with a sign.
fn integer(text: &str) -> Result<i128, String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let value = match digits.strip_prefix("0x") {
        // A second sign is not allowed.
        Some(hex) if !hex.starts_with(['+', '-']) => i128::from_str_radix(hex, 16),
        _ if digits.starts_with(['+', '-']) => return Err(format!("`{text}` is no integer")),
        _ => digits.parse(),
    };
    value
        .map(|value| sign * value)
        .map_err(|_| format!("`{text}` is no integer"))
}
