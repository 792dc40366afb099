//! The numbers of rules: what a rule may compare and compute with, and their texts in a record.

use core::mem::transmute_copy;

/// A number, `bool` or `char`: what a rule may compare.
///
/// # Safety
/// The type has this name, and its values these bits.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a rule compares numbers, `bool` and `char`, and this is `{Self}`",
    note = "in braces, the host alone evaluates it: `require({{ mode == MODE }})`"
)]
pub unsafe trait Scalar: Copy {
    /// What it is, and how Rust names it.
    const KIND: (Kind, &'static str);
}

#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Kind {
    Unsigned,
    Signed,
    /// Written by its bits.
    Float,
    Bool,
}

macro_rules! scalars {
    ($($kind:ident: $($t:ident)*;)*) => {$($(
        // SAFETY: a primitive type.
        unsafe impl Scalar for $t {
            const KIND: (Kind, &'static str) = (Kind::$kind, stringify!($t));
        }
    )*)*};
}
scalars! {
    Unsigned: u8 u16 u32 u64 u128 usize char;
    Signed: i8 i16 i32 i64 i128 isize;
    Float: f32 f64;
    Bool: bool;
}

/// The same value.
#[doc(hidden)]
#[inline(always)]
pub const fn scalar<T: Scalar>(value: T) -> T {
    value
}

/// A constant's value in a record: `256u32`, `-1i8`, `0x3f800000f32`, `true`.
#[doc(hidden)]
#[derive(Debug)]
pub struct Digits {
    text: [u8; 48],
    start: usize,
}

#[doc(hidden)]
pub const fn digits<T: Scalar>(value: T) -> Digits {
    // SAFETY: a primitive of that many bytes.
    let bits = unsafe {
        match size_of::<T>() {
            1 => transmute_copy::<T, u8>(&value) as u128,
            2 => transmute_copy::<T, u16>(&value) as u128,
            4 => transmute_copy::<T, u32>(&value) as u128,
            8 => transmute_copy::<T, u64>(&value) as u128,
            _ => transmute_copy::<T, u128>(&value),
        }
    };
    let (kind, name) = T::KIND;
    let mut digits = Digits {
        text: [0; 48],
        start: 48,
    };
    if let Kind::Bool = kind {
        digits.prepend(if bits == 0 { "false" } else { "true" });
        return digits;
    }
    digits.prepend(name);
    let unused = 128 - 8 * size_of::<T>() as u32;
    let is_negative = matches!(kind, Kind::Signed) && ((bits << unused) as i128) < 0;
    // The bits of a negative number are 2^n less its distance from zero.
    let mut rest = if is_negative {
        ((bits << unused) as i128 >> unused).unsigned_abs()
    } else {
        bits
    };
    let base = if let Kind::Float = kind { 16 } else { 10 };
    loop {
        digits.start -= 1;
        digits.text[digits.start] = b"0123456789abcdef"[(rest % base) as usize];
        rest /= base;
        if rest == 0 {
            break;
        }
    }
    if base == 16 {
        digits.prepend("0x");
    }
    if is_negative {
        digits.prepend("-");
    }
    digits
}

impl Digits {
    const fn prepend(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = bytes.len();
        while at > 0 {
            at -= 1;
            self.start -= 1;
            self.text[self.start] = bytes[at];
        }
    }
}

/// As text.
#[doc(hidden)]
pub const fn digits_of(digits: &'static Digits) -> &'static str {
    super::text(digits.text.split_at(digits.start).1)
}

#[cfg(not(target_arch = "nvptx64"))]
pub use arithmetic::*;

#[cfg(not(target_arch = "nvptx64"))]
mod arithmetic {
    use super::Scalar;

    /// A number that a rule computes with. An operation without a result gives `None`: nothing
    /// wraps or panics.
    #[doc(hidden)]
    #[diagnostic::on_unimplemented(
        message = "a rule computes with numbers, and this is `{Self}`",
        note = "in braces, the host alone evaluates it: `require({{ f(x.len()) == 2 }})`"
    )]
    pub trait Arithmetic: Scalar + PartialOrd {
        const ZERO: Self;
        fn add(self, other: Self) -> Option<Self>;
        fn sub(self, other: Self) -> Option<Self>;
        fn mul(self, other: Self) -> Option<Self>;
        fn div(self, other: Self) -> Option<Self>;
        fn rem(self, other: Self) -> Option<Self>;
    }

    /// An integer.
    #[doc(hidden)]
    pub trait Integer: Arithmetic {
        fn shl(self, by: u32) -> Option<Self>;
        fn shr(self, by: u32) -> Option<Self>;
    }

    macro_rules! integers {
        ($($t:ident)*) => {$(
            impl Arithmetic for $t {
                const ZERO: Self = 0;
                fn add(self, other: Self) -> Option<Self> {
                    self.checked_add(other)
                }
                fn sub(self, other: Self) -> Option<Self> {
                    self.checked_sub(other)
                }
                fn mul(self, other: Self) -> Option<Self> {
                    self.checked_mul(other)
                }
                fn div(self, other: Self) -> Option<Self> {
                    self.checked_div(other)
                }
                fn rem(self, other: Self) -> Option<Self> {
                    self.checked_rem(other)
                }
            }

            impl Integer for $t {
                fn shl(self, by: u32) -> Option<Self> {
                    // A shift that loses a bit has no result.
                    self.checked_shl(by).filter(|shifted| shifted >> by == self)
                }
                fn shr(self, by: u32) -> Option<Self> {
                    self.checked_shr(by)
                }
            }
        )*};
    }
    integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

    macro_rules! floats {
        ($($t:ident)*) => {$(
            impl Arithmetic for $t {
                const ZERO: Self = 0.0;
                fn add(self, other: Self) -> Option<Self> {
                    Some(self + other)
                }
                fn sub(self, other: Self) -> Option<Self> {
                    Some(self - other)
                }
                fn mul(self, other: Self) -> Option<Self> {
                    Some(self * other)
                }
                fn div(self, other: Self) -> Option<Self> {
                    Some(self / other)
                }
                fn rem(self, other: Self) -> Option<Self> {
                    Some(self % other)
                }
            }
        )*};
    }
    floats!(f32 f64);

    #[doc(hidden)]
    pub fn checked_add<T: Arithmetic>(left: T, right: T) -> Option<T> {
        left.add(right)
    }

    #[doc(hidden)]
    pub fn checked_sub<T: Arithmetic>(left: T, right: T) -> Option<T> {
        left.sub(right)
    }

    #[doc(hidden)]
    pub fn checked_mul<T: Arithmetic>(left: T, right: T) -> Option<T> {
        left.mul(right)
    }

    #[doc(hidden)]
    pub fn checked_div<T: Arithmetic>(left: T, right: T) -> Option<T> {
        left.div(right)
    }

    #[doc(hidden)]
    pub fn checked_rem<T: Arithmetic>(left: T, right: T) -> Option<T> {
        left.rem(right)
    }

    #[doc(hidden)]
    pub fn checked_shl<T: Integer>(number: T, by: u32) -> Option<T> {
        number.shl(by)
    }

    #[doc(hidden)]
    pub fn checked_shr<T: Integer>(number: T, by: u32) -> Option<T> {
        number.shr(by)
    }

    /// Only zero is a multiple of zero.
    #[doc(hidden)]
    pub fn is_multiple_of<T: Integer>(number: T, of: T) -> bool {
        match number.rem(of) {
            Some(rest) => rest == T::ZERO,
            None => number == T::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_written_with_their_types() {
        const fn text(digits: &'static Digits) -> &'static str {
            digits_of(digits)
        }
        const SMALLEST: &Digits = &digits(i128::MIN);
        assert_eq!(
            text(SMALLEST),
            "-170141183460469231731687303715884105728i128"
        );
        const MINUS: &Digits = &digits(-1_i8);
        assert_eq!(text(MINUS), "-1i8");
        const LARGEST: &Digits = &digits(u64::MAX);
        assert_eq!(text(LARGEST), "18446744073709551615u64");
        const ZERO: &Digits = &digits(0_usize);
        assert_eq!(text(ZERO), "0usize");
        const ONE: &Digits = &digits(1.0_f32);
        assert_eq!(text(ONE), "0x3f800000f32");
        const YES: &Digits = &digits(true);
        assert_eq!(text(YES), "true");
        const LETTER: &Digits = &digits('A');
        assert_eq!(text(LETTER), "65char");
    }

    #[test]
    fn without_a_result_there_is_none() {
        assert_eq!(checked_add(u32::MAX, 1), None);
        assert_eq!(checked_sub(1_usize, 2), None);
        assert_eq!(checked_div(1, 0), None);
        assert_eq!(checked_rem(i32::MIN, -1), None);
        assert_eq!(checked_shl(1_u32, 31), Some(1 << 31));
        assert_eq!(checked_shl(3_u32, 31), None);
        assert_eq!(checked_shl(-1_i32, 31), Some(i32::MIN));
        assert_eq!(checked_shl(1_u32, 32), None);
        assert!(is_multiple_of(6, 3) && !is_multiple_of(7, 3));
        assert!(is_multiple_of(0, 0) && !is_multiple_of(7, 0));
    }
}
