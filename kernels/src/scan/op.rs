//! What is scanned: types and operations.

use crate::number::Scalar;
pub use crate::reduce::Sum;

/// An element of a scan.
pub trait Element: Scalar {
    /// Added to any number it gives that number with the same bits: −0 of floats.
    const NOTHING: Self;

    /// Its bits, the high ones zero.
    fn bits(self) -> u64;
    /// The element of the low bits.
    fn of_bits(bits: u64) -> Self;
}

macro_rules! elements {
    ($($t:ident $nothing:expr, $bits:expr, $of_bits:expr;)*) => {$(
        impl Element for $t {
            const NOTHING: Self = $nothing;

            #[inline(always)]
            fn bits(self) -> u64 {
                $bits(self) as u64
            }

            #[inline(always)]
            fn of_bits(bits: u64) -> Self {
                $of_bits(bits as _)
            }
        }
    )*};
}
elements! {
    i32 0, i32::cast_unsigned, u32::cast_signed;
    i64 0, i64::cast_unsigned, u64::cast_signed;
    f32 -0.0, f32::to_bits, f32::from_bits;
    f64 -0.0, f64::to_bits, f64::from_bits;
}

/// The operation of a scan: [`Sum`] or [`Extreme`]. It is associative but for roundings.
pub trait Op: sealed::Sealed {
    /// Applied to any value it gives that value with the same bits.
    fn identity<T: Element>() -> T;
    /// What an exclusive scan starts with.
    fn first<T: Element>() -> T;
    /// Combines what comes before a value with the value.
    fn apply<T: Element>(before: T, value: T) -> T;
    /// What is combined instead of an element, and the element again.
    fn turned<T: Element>(element: T, flip: u64) -> T;
}

/// The minimum of `element ^ flip`, `^ flip`: see [`Order`]. NaN if there is one so far.
#[derive(Clone, Copy, Debug)]
pub struct Extreme;

/// Which `flip` makes [`Extreme`] a minimum or a maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Minima of signed integers and floats.
    Least,
    /// Maxima of floats: the other sign.
    GreatestFloat,
    /// Maxima of signed integers.
    Greatest,
    /// Minima of unsigned integers, as signed ones of the same width.
    LeastUnsigned,
    /// Maxima of unsigned integers, as signed ones of the same width.
    GreatestUnsigned,
}

impl Order {
    /// The parameter `flip` for elements of type `T`.
    pub const fn flip<T>(self) -> u64 {
        let sign = 1 << (8 * size_of::<T>() - 1);
        match self {
            Self::Least => 0,
            Self::GreatestFloat | Self::LeastUnsigned => sign,
            Self::Greatest => sign | (sign - 1),
            Self::GreatestUnsigned => sign - 1,
        }
    }
}

impl Op for Sum {
    #[inline(always)]
    fn identity<T: Element>() -> T {
        T::NOTHING
    }

    // Not −0, which would be the sum of nothing, and the sums of −0 then are 0.
    #[inline(always)]
    fn first<T: Element>() -> T {
        T::ZERO
    }

    #[inline(always)]
    fn apply<T: Element>(before: T, value: T) -> T {
        before.add(value)
    }

    #[inline(always)]
    fn turned<T: Element>(element: T, _: u64) -> T {
        element
    }
}

impl Op for Extreme {
    #[inline(always)]
    fn identity<T: Element>() -> T {
        T::HIGHEST
    }

    #[inline(always)]
    fn first<T: Element>() -> T {
        T::HIGHEST
    }

    #[inline(always)]
    fn apply<T: Element>(before: T, value: T) -> T {
        before.min(value)
    }

    #[inline(always)]
    fn turned<T: Element>(element: T, flip: u64) -> T {
        T::of_bits(element.bits() ^ flip)
    }
}

mod sealed {
    pub trait Sealed {}

    impl Sealed for super::Sum {}
    impl Sealed for super::Extreme {}
}
