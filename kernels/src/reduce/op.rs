//! The operations of reductions and scans.

use cuda_std::Plain;
use cuda_std::warp::WarpShuffleValue;

use super::addend::Addend;
use super::lanes::fold_lanes;
use super::partial::Partial;
use crate::number::Scalar;
use crate::pack::lanes;

/// The operation of a reduction or a scan: [`Sum`] or [`Extreme`].
pub trait Op: sealed::Sealed {
    /// The type into which a thread folds its elements: for a sum more precise than they are.
    type Value<T: Addend>: Plain + WarpShuffleValue;
    /// Whether a zero more changes no result.
    const ZERO_IS_NOTHING: bool;

    /// The identity: the result for no elements.
    fn identity<T: Scalar>() -> T;
    /// Applied to any value it gives that value with the same bits: a sum of nothing is 0, and with
    /// −0 it is 0 too.
    fn nothing<T: Scalar>() -> T;
    /// What is folded instead of an element, and the element again.
    fn turned<T: Scalar>(element: T, flip: u64) -> T;
    /// Folds two values in the element's type.
    fn apply<T: Scalar>(a: T, b: T) -> T;
    /// The value of no elements.
    fn start<T: Addend>() -> Self::Value<T>;
    /// The value of one element.
    fn one<T: Addend>(element: T) -> Self::Value<T>;
    /// Folds an element into a value.
    fn fold<T: Addend>(value: Self::Value<T>, element: T) -> Self::Value<T>;
    /// Folds two values.
    fn merge<T: Addend>(a: Self::Value<T>, b: Self::Value<T>) -> Self::Value<T>;
    /// Whether values are [divided](Partial::DIVIDES) before a warp folds them.
    fn divides<T: Addend>() -> bool {
        false
    }
    /// Folds `N` values of each lane of a warp; lane 0 gets the result.
    ///
    /// # Safety
    /// All 32 lanes call it.
    #[inline(always)]
    unsafe fn of_warp<T: Addend, const N: usize>(values: [Self::Value<T>; N]) -> Self::Value<T> {
        // SAFETY: the caller's promise.
        unsafe { fold_lanes(values, Self::merge::<T>) }
    }
    /// The number of values that a thread keeps for the lanes of its packs, which use them in turn,
    /// and whether two lanes are folded first.
    fn kept<T: Addend>() -> (usize, bool);
    /// The value as a block writes it.
    fn partial<T: Addend>(value: Self::Value<T>, flip: u64) -> T::Partial;
    /// The value that a block has written.
    fn of_partial<T: Addend>(partial: T::Partial, flip: u64) -> Self::Value<T>;
}

/// The sum.
#[derive(Clone, Copy, Debug)]
pub struct Sum;

/// The minimum of `element ^ flip`, `^ flip`: see [`Order`]. NaN if there is one, with its sign and
/// payload.
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
    type Value<T: Addend> = T::Partial;
    const ZERO_IS_NOTHING: bool = true;

    #[inline(always)]
    fn identity<T: Scalar>() -> T {
        T::ZERO
    }

    #[inline(always)]
    fn nothing<T: Scalar>() -> T {
        T::NOTHING
    }

    #[inline(always)]
    fn turned<T: Scalar>(element: T, _: u64) -> T {
        element
    }

    #[inline(always)]
    fn apply<T: Scalar>(a: T, b: T) -> T {
        a.add(b)
    }

    #[inline(always)]
    fn start<T: Addend>() -> T::Partial {
        T::Partial::ZERO
    }

    #[inline(always)]
    fn one<T: Addend>(element: T) -> T::Partial {
        element.partial()
    }

    #[inline(always)]
    fn fold<T: Addend>(value: T::Partial, element: T) -> T::Partial {
        element.add_to(value)
    }

    #[inline(always)]
    fn merge<T: Addend>(a: T::Partial, b: T::Partial) -> T::Partial {
        a.merge(b)
    }

    #[inline(always)]
    fn divides<T: Addend>() -> bool {
        T::Partial::DIVIDES
    }

    #[inline(always)]
    unsafe fn of_warp<T: Addend, const N: usize>(values: [T::Partial; N]) -> T::Partial {
        // SAFETY: the caller's promise.
        unsafe { T::Partial::of_warp(values) }
    }

    #[inline(always)]
    fn kept<T: Addend>() -> (usize, bool) {
        (T::SUMS, T::PAIRS)
    }

    #[inline(always)]
    fn partial<T: Addend>(value: T::Partial, _: u64) -> T::Partial {
        value
    }

    #[inline(always)]
    fn of_partial<T: Addend>(partial: T::Partial, _: u64) -> T::Partial {
        partial
    }
}

impl Op for Extreme {
    // Extremes need no more precision than the elements'.
    type Value<T: Addend> = T;
    const ZERO_IS_NOTHING: bool = false;

    #[inline(always)]
    fn identity<T: Scalar>() -> T {
        T::HIGHEST
    }

    #[inline(always)]
    fn nothing<T: Scalar>() -> T {
        T::HIGHEST
    }

    #[inline(always)]
    fn turned<T: Scalar>(element: T, flip: u64) -> T {
        T::of_bits(element.bits() ^ flip)
    }

    #[inline(always)]
    fn apply<T: Scalar>(a: T, b: T) -> T {
        a.min(b)
    }

    #[inline(always)]
    fn start<T: Addend>() -> T {
        T::HIGHEST
    }

    #[inline(always)]
    fn one<T: Addend>(element: T) -> T {
        element
    }

    #[inline(always)]
    fn fold<T: Addend>(value: T, element: T) -> T {
        value.min(element)
    }

    #[inline(always)]
    fn merge<T: Addend>(a: T, b: T) -> T {
        a.min(b)
    }

    #[inline(always)]
    fn kept<T: Addend>() -> (usize, bool) {
        (lanes::<T>(), false)
    }

    #[inline(always)]
    fn partial<T: Addend>(value: T, flip: u64) -> T::Partial {
        Self::turned(value, flip).partial()
    }

    #[inline(always)]
    fn of_partial<T: Addend>(partial: T::Partial, flip: u64) -> T {
        Self::turned(T::of_partial(partial), flip)
    }
}

mod sealed {
    pub trait Sealed {}

    impl Sealed for super::Sum {}
    impl Sealed for super::Extreme {}
}
