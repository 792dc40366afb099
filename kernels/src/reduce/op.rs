//! The operations of reductions.

use core::ops::Range;

use cuda_std::Plain;
use cuda_std::warp::WarpShuffleValue;

use super::addend::{Addend, Partial, merge_totals};
use super::lanes::fold_lanes;
use crate::number::Scalar;
use crate::pack::lanes;

/// The operation of a reduction: [`Sum`], [`Min`] or [`Max`].
pub trait Op: sealed::Sealed {
    /// The type into which a thread folds its elements: for a sum more precise than they are.
    type Value<T: Addend>: Plain + WarpShuffleValue;

    /// The identity: the result for no elements.
    fn identity<T: Scalar>() -> T;
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
    fn partial<T: Addend>(value: Self::Value<T>) -> T::Partial;
    /// The value that a block has written.
    fn of_partial<T: Addend>(partial: T::Partial) -> Self::Value<T>;
    /// The result of all rows, from the values of runs of rows.
    fn over<T: Addend>(rows: Range<usize>, value: impl Fn(Range<usize>) -> Self::Value<T>) -> T;
}

/// Rows of a run, which a sum adds without totals: see [the error](super::addend).
pub const RUN: usize = 1 << 10;

/// The sum.
#[derive(Clone, Copy, Debug)]
pub struct Sum;

/// The minimum; NaN if there is one.
#[derive(Clone, Copy, Debug)]
pub struct Min;

/// The maximum; NaN if there is one.
#[derive(Clone, Copy, Debug)]
pub struct Max;

impl Op for Sum {
    type Value<T: Addend> = T::Partial;

    #[inline(always)]
    fn identity<T: Scalar>() -> T {
        T::ZERO
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
    unsafe fn of_warp<T: Addend, const N: usize>(values: [T::Partial; N]) -> T::Partial {
        // SAFETY: the caller's promise.
        unsafe { T::Partial::of_warp(values) }
    }

    #[inline(always)]
    fn kept<T: Addend>() -> (usize, bool) {
        (T::SUMS, T::PAIRS)
    }

    #[inline(always)]
    fn partial<T: Addend>(value: T::Partial) -> T::Partial {
        value
    }

    #[inline(always)]
    fn of_partial<T: Addend>(partial: T::Partial) -> T::Partial {
        partial
    }

    #[inline(always)]
    fn over<T: Addend>(rows: Range<usize>, value: impl Fn(Range<usize>) -> T::Partial) -> T {
        let Range { start: mut at, end } = rows;
        let mut total = T::Partial::ZERO.settle();
        while at < end {
            let next = if end - at > RUN { at + RUN } else { end };
            total = merge_totals(total, value(at..next).settle());
            at = next;
        }
        T::rounded(total)
    }
}

/// Minimum and maximum need no more precision than the elements'.
macro_rules! in_the_elements_type {
    () => {
        type Value<T: Addend> = T;

        #[inline(always)]
        fn start<T: Addend>() -> T {
            Self::identity()
        }

        #[inline(always)]
        fn one<T: Addend>(element: T) -> T {
            element
        }

        #[inline(always)]
        fn fold<T: Addend>(value: T, element: T) -> T {
            Self::apply(value, element)
        }

        #[inline(always)]
        fn merge<T: Addend>(a: T, b: T) -> T {
            Self::apply(a, b)
        }

        #[inline(always)]
        fn kept<T: Addend>() -> (usize, bool) {
            (lanes::<T>(), false)
        }

        #[inline(always)]
        fn partial<T: Addend>(value: T) -> T::Partial {
            value.partial()
        }

        #[inline(always)]
        fn of_partial<T: Addend>(partial: T::Partial) -> T {
            T::of_partial(partial)
        }

        #[inline(always)]
        fn over<T: Addend>(rows: Range<usize>, value: impl Fn(Range<usize>) -> T) -> T {
            value(rows)
        }
    };
}

impl Op for Min {
    in_the_elements_type!();

    #[inline(always)]
    fn identity<T: Scalar>() -> T {
        T::HIGHEST
    }

    #[inline(always)]
    fn apply<T: Scalar>(a: T, b: T) -> T {
        a.min(b)
    }
}

impl Op for Max {
    in_the_elements_type!();

    #[inline(always)]
    fn identity<T: Scalar>() -> T {
        T::LOWEST
    }

    #[inline(always)]
    fn apply<T: Scalar>(a: T, b: T) -> T {
        a.max(b)
    }
}

mod sealed {
    pub trait Sealed {}

    impl Sealed for super::Sum {}
    impl Sealed for super::Min {}
    impl Sealed for super::Max {}
}
