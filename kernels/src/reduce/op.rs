//! The operations of reductions.

use crate::number::Scalar;

/// The operation of a reduction: [`Sum`], [`Min`] or [`Max`].
pub trait Op: sealed::Sealed {
    /// The identity: the result for nothing.
    fn identity<T: Scalar>() -> T;
    /// Folds two values.
    fn apply<T: Scalar>(a: T, b: T) -> T;
}

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
    #[inline(always)]
    fn identity<T: Scalar>() -> T {
        T::ZERO
    }

    #[inline(always)]
    fn apply<T: Scalar>(a: T, b: T) -> T {
        a.add(b)
    }
}

impl Op for Min {
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
