//! Values as parameters of an entry point.

use core::mem::transmute_copy;

/// Whether a parameter of PTX can have the type's alignment, which is at most 16.
#[doc(hidden)]
#[derive(Debug)]
pub enum Aligned<const FITS: bool> {}

/// How a `T` as large as `Bytes` is passed.
#[doc(hidden)]
pub trait Passed<T, Bytes> {
    /// The parameter's type.
    type Type;

    /// Reads the parameter as a `T`.
    ///
    /// # Safety
    /// The launch passed a `T`.
    unsafe fn take(passed: Self::Type) -> T;
}

impl<T, Bytes> Passed<T, Bytes> for Aligned<true> {
    type Type = T;

    #[inline(always)]
    unsafe fn take(passed: T) -> T {
        passed
    }
}

// The compiler cannot give a PTX parameter a larger alignment: the bytes are copied to an aligned
// value.
impl<T: Copy, Bytes> Passed<T, Bytes> for Aligned<false> {
    type Type = Bytes;

    #[inline(always)]
    unsafe fn take(passed: Bytes) -> T {
        const { assert!(size_of::<T>() == size_of::<Bytes>()) };
        // SAFETY: the bytes are those of a `T`, and all of them.
        unsafe { transmute_copy(&passed) }
    }
}
