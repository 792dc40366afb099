//! The numbers of files as those that kernels take.

use kernel_arguments::{Type, bytes_of};

/// The bytes of a file's numbers in another type; only such that are the same numbers.
pub(super) fn convert(to: Type, stored: Type, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let integers = |value: fn(&[u8]) -> i128| {
        let mut converted = Vec::new();
        for element in bytes.chunks_exact(stored.bytes()) {
            converted.extend(bytes_of(to, &value(element).to_string())?);
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
        let name = stored.numpy();
        Err(format!("it holds {name}, which is not converted to {to}"))
    };
    match (to, stored) {
        (Type::F32, Type::F32) | (Type::F64, Type::F64) => Ok(bytes),
        (Type::F32 | Type::F64, Type::F16 | Type::F32) => {
            let value: fn(&[u8]) -> f64 = match stored {
                Type::F16 => number!(half::f16),
                _ => number!(f32),
            };
            let values = bytes.chunks_exact(stored.bytes()).map(value);
            Ok(match to {
                Type::F32 => values
                    .flat_map(|value| (value as f32).to_le_bytes())
                    .collect(),
                _ => values.flat_map(f64::to_le_bytes).collect(),
            })
        }
        _ if to.is_float() => other(),
        (_, Type::Bool) => integers(|element| i128::from(element != [0])),
        (_, Type::I8) => integers(number!(i8)),
        (_, Type::I16) => integers(number!(i16)),
        (_, Type::I32) => integers(number!(i32)),
        (_, Type::I64) => integers(number!(i64)),
        (_, Type::U8) => integers(number!(u8)),
        (_, Type::U16) => integers(number!(u16)),
        (_, Type::U32) => integers(number!(u32)),
        (_, Type::U64) => integers(number!(u64)),
        (_, Type::F16 | Type::F32 | Type::F64) => other(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_numbers_are_converted_where_they_stay_the_same() {
        let four = 4_i32.to_le_bytes().to_vec();
        let to = |ty: Type, stored, bytes: &[u8]| convert(ty, stored, bytes.to_vec());
        assert_eq!(to(Type::I32, Type::I32, &four), Ok(four.clone()));
        assert_eq!(to(Type::U8, Type::I32, &four), Ok(vec![4]));
        assert_eq!(to(Type::I16, Type::Bool, &[1, 0]), Ok(vec![1, 0, 0, 0]));
        assert_eq!(to(Type::U64, Type::U64, &[255; 8]), Ok(vec![255; 8]));
        assert!(to(Type::I64, Type::U64, &[255; 8]).is_err());
        assert!(to(Type::U8, Type::I8, &[255]).is_err());
        let half = 1.5_f32.to_le_bytes().to_vec();
        assert_eq!(to(Type::F32, Type::F16, &[0, 0x3E]), Ok(half.clone()));
        assert_eq!(
            to(Type::F64, Type::F32, &half),
            Ok(1.5_f64.to_le_bytes().to_vec())
        );
        assert!(to(Type::F32, Type::F64, &[0; 8]).is_err());
        assert!(to(Type::F32, Type::I32, &four).is_err());
        assert!(to(Type::I32, Type::F32, &half).is_err());
    }
}
