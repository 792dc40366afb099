//! The number types that kernels take, and the bytes of their values.

use launch_contract::Type;
use rand::{RngExt, rngs::StdRng};

/// The type of this name; not `bool` or `f16`, whose values are not written as numbers.
pub(crate) fn named(name: &str) -> Result<Type, String> {
    let mut types = Type::ALL.to_vec();
    types.retain(|ty| !matches!(ty, Type::Bool | Type::F16));
    let found = types.iter().find(|ty| ty.name() == name);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = types.iter().map(|ty| ty.name()).collect();
        format!("`{name}` is none of {}", names.join(", "))
    })
}

/// `$body` with `$T` as the integer type, or one of the other two.
macro_rules! for_type {
    ($ty:expr, $T:ident => $body:expr) => {
        for_type!($ty, $T => $body, f32 => $body, f64 => $body)
    };
    ($ty:expr, $T:ident => $body:expr, f32 => $f32:expr, f64 => $f64:expr) => {
        match $ty {
            Type::U8 | Type::Bool => { type $T = u8; $body }
            Type::U16 | Type::F16 => { type $T = u16; $body }
            Type::U32 => { type $T = u32; $body }
            Type::U64 => { type $T = u64; $body }
            Type::I8 => { type $T = i8; $body }
            Type::I16 => { type $T = i16; $body }
            Type::I32 => { type $T = i32; $body }
            Type::I64 => { type $T = i64; $body }
            Type::F32 => { #[allow(dead_code)] type $T = f32; $f32 }
            Type::F64 => { #[allow(dead_code)] type $T = f64; $f64 }
        }
    };
}

/// The bytes of a number in text form.
///
/// # Errors
/// What is wrong with the text.
pub fn bytes_of(ty: Type, text: &str) -> Result<Vec<u8>, String> {
    let float = || format!("`{text}` is no number");
    for_type!(ty,
        T => T::try_from(integer(text)?)
            .map(|value| value.to_le_bytes().to_vec())
            .map_err(|_| format!("`{text}` is not between {} and {}", T::MIN, T::MAX)),
        f32 => text.parse::<f32>().map(|value| value.to_le_bytes().to_vec()).map_err(|_| float()),
        f64 => text.parse::<f64>().map(|value| value.to_le_bytes().to_vec()).map_err(|_| float()))
}

/// Appends the elements with these indices of 0, 1, 2, …, wrapping.
pub(crate) fn iota(ty: Type, indices: std::ops::Range<usize>, to: &mut Vec<u8>) {
    for_type!(ty, T => indices.for_each(|index| to.extend((index as T).to_le_bytes())))
}

/// Appends random numbers: floats between −1 and 1; integers over their whole range, but below
/// 1000 in magnitude.
pub(crate) fn random(ty: Type, count: usize, random: &mut StdRng, to: &mut Vec<u8>) {
    for_type!(ty,
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
