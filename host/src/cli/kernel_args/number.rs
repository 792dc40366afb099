//! The types of numbers that kernels take, and the bytes of their values.

use blockwise_ops::named_enum;
use ndarray::Array1;
use rand::{RngExt, rngs::StdRng};

use crate::cli::failure::Failure;
use crate::io::{Data, Stored};

named_enum! {
    /// A type of numbers.
    pub(in crate::cli) enum Number("element type") {
        U8 = "u8",
        U16 = "u16",
        U32 = "u32",
        U64 = "u64",
        I8 = "i8",
        I16 = "i16",
        I32 = "i32",
        I64 = "i64",
        F32 = "f32",
        F64 = "f64",
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
    pub(super) fn size(self) -> usize {
        for_type!(self, T => size_of::<T>())
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Number::F32 | Number::F64)
    }

    /// The bytes of a number as the user writes it.
    pub(super) fn parse(self, text: &str) -> Result<Vec<u8>, String> {
        let float = || format!("`{text}` is no number");
        for_type!(self,
            T => T::try_from(integer(text)?)
                .map(|value| value.to_le_bytes().to_vec())
                .map_err(|_| format!("`{text}` is not between {} and {}", T::MIN, T::MAX)),
            f32 => text.parse::<f32>().map(|value| value.to_le_bytes().to_vec()).map_err(|_| float()),
            f64 => text.parse::<f64>().map(|value| value.to_le_bytes().to_vec()).map_err(|_| float()))
    }

    /// Appends the numbers with these indices of 0, 1, 2, …, which wrap.
    pub(super) fn iota(self, indices: std::ops::Range<usize>, to: &mut Vec<u8>) {
        for_type!(self, T => indices.for_each(|index| to.extend((index as T).to_le_bytes())))
    }

    /// Appends random numbers: floats between −1 and 1, integers of the whole range below 1000 in size.
    pub(super) fn random(self, count: usize, random: &mut StdRng, to: &mut Vec<u8>) {
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

    /// The bytes of a file's numbers in this type; only such that are the same numbers.
    pub(super) fn convert(self, stored: Stored, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
        let integers = |value: fn(&[u8]) -> i128| {
            let mut converted = Vec::new();
            for element in bytes.chunks_exact(stored.bytes()) {
                converted.extend(self.parse(&value(element).to_string())?);
            }
            Ok(converted)
        };
        // Each chunk has the type's size.
        macro_rules! number {
            ($t:ty) => {
                |element| <$t>::from_le_bytes(element.try_into().unwrap_or_default()).into()
            };
        }
        let other = || {
            let name = stored.name();
            Err(format!("it holds {name}, which is not converted to {self}"))
        };
        match (self, stored) {
            (Number::F32, Stored::F32) | (Number::F64, Stored::F64) => Ok(bytes),
            (Number::F32 | Number::F64, Stored::F16 | Stored::F32) => {
                let value: fn(&[u8]) -> f64 = match stored {
                    Stored::F16 => number!(half::f16),
                    _ => number!(f32),
                };
                let values = bytes.chunks_exact(stored.bytes()).map(value);
                Ok(match self {
                    Number::F32 => values
                        .flat_map(|value| (value as f32).to_le_bytes())
                        .collect(),
                    _ => values.flat_map(f64::to_le_bytes).collect(),
                })
            }
            _ if self.is_float() => other(),
            (_, Stored::Bool) => integers(|element| i128::from(element != [0])),
            (_, Stored::I8) => integers(number!(i8)),
            (_, Stored::I16) => integers(number!(i16)),
            (_, Stored::I32) => integers(number!(i32)),
            (_, Stored::I64) => integers(number!(i64)),
            (_, Stored::U8) => integers(number!(u8)),
            (_, Stored::U16) => integers(number!(u16)),
            (_, Stored::U32) => integers(number!(u32)),
            (_, Stored::U64) => integers(number!(u64)),
            (_, Stored::F16 | Stored::F32 | Stored::F64) => other(),
        }
    }

    /// Numbers of this type as an array for a file: integers become int64.
    pub(super) fn array(self, bytes: &[u8]) -> Result<Data, Failure> {
        let chunks = bytes.chunks_exact(self.size());
        let too_large = || {
            Failure::new(
                "a number of the output is larger than an int64, in which integers are saved",
            )
        };
        // Each chunk has the type's size.
        for_type!(self,
        T => {
            let value = |chunk: &[u8]| T::from_le_bytes(chunk.try_into().unwrap_or_default());
            let values: Option<Vec<i64>> = chunks.map(|chunk| i64::try_from(i128::from(value(chunk))).ok()).collect();
            Ok(Data::I64(Array1::from_vec(values.ok_or_else(too_large)?).into_dyn()))
        },
        f32 => {
            let value = |chunk: &[u8]| f32::from_le_bytes(chunk.try_into().unwrap_or_default());
            Ok(Data::F32(Array1::from_iter(chunks.map(value)).into_dyn()))
        },
        f64 => {
            let value = |chunk: &[u8]| f64::from_le_bytes(chunk.try_into().unwrap_or_default());
            Ok(Data::F64(Array1::from_iter(chunks.map(value)).into_dyn()))
        })
    }
}

/// A decimal or hexadecimal integer, with a sign.
fn integer(text: &str) -> Result<i128, String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let value = match digits.strip_prefix("0x") {
        // Not another sign.
        Some(hex) if !hex.starts_with(['+', '-']) => i128::from_str_radix(hex, 16),
        _ if digits.starts_with(['+', '-']) => return Err(format!("`{text}` is no integer")),
        _ => digits.parse(),
    };
    value
        .map(|value| sign * value)
        .map_err(|_| format!("`{text}` is no integer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_numbers_are_converted_where_they_stay_the_same() {
        let four = 4_i32.to_le_bytes().to_vec();
        let to = |ty: Number, stored, bytes: &[u8]| ty.convert(stored, bytes.to_vec());
        assert_eq!(to(Number::I32, Stored::I32, &four), Ok(four.clone()));
        assert_eq!(to(Number::U8, Stored::I32, &four), Ok(vec![4]));
        assert_eq!(to(Number::I16, Stored::Bool, &[1, 0]), Ok(vec![1, 0, 0, 0]));
        assert_eq!(to(Number::U64, Stored::U64, &[255; 8]), Ok(vec![255; 8]));
        assert!(to(Number::I64, Stored::U64, &[255; 8]).is_err());
        assert!(to(Number::U8, Stored::I8, &[255]).is_err());
        let half = 1.5_f32.to_le_bytes().to_vec();
        assert_eq!(to(Number::F32, Stored::F16, &[0, 0x3E]), Ok(half.clone()));
        assert_eq!(
            to(Number::F64, Stored::F32, &half),
            Ok(1.5_f64.to_le_bytes().to_vec())
        );
        assert!(to(Number::F32, Stored::F64, &[0; 8]).is_err());
        assert!(to(Number::F32, Stored::I32, &four).is_err());
        assert!(to(Number::I32, Stored::F32, &half).is_err());
    }
}
