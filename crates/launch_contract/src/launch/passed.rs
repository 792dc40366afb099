//! Values as parameters of an entry point.

use core::mem::transmute_copy;

/// How a value is passed: as words of `BYTES` bytes each, or as it is, if 0.
#[doc(hidden)]
#[derive(Debug)]
pub enum InWords<const BYTES: usize> {}

/// The bytes of a word for a value of this size and alignment.
///
/// The compiler cannot give a PTX parameter an alignment above 16. And each element of an array is
/// a parameter to LLVM, which takes minutes for 10,000 of them: large ones are passed in words.
#[doc(hidden)]
pub const fn word_of(size: usize, align: usize) -> usize {
    const LARGE: usize = 512;
    match size % 8 {
        _ if align > 16 => 16,
        _ if size <= LARGE || align >= 8 => 0,
        0 => 8,
        4 => 4,
        2 | 6 => 2,
        _ => 0,
    }
}

/// How many such words a value of this size and alignment has.
#[doc(hidden)]
pub const fn words_of(size: usize, align: usize) -> usize {
    match word_of(size, align) {
        0 => 0,
        word => size / word,
    }
}

/// How a `T` of `WORDS` words is passed.
#[doc(hidden)]
pub trait Passed<T, const WORDS: usize> {
    /// The parameter's type.
    type Type;

    /// Reads the parameter as a `T`.
    ///
    /// # Safety
    /// The launch passed a `T`.
    unsafe fn take(passed: Self::Type) -> T;
}

impl<T> Passed<T, 0> for InWords<0> {
    type Type = T;

    #[inline(always)]
    unsafe fn take(passed: T) -> T {
        passed
    }
}

macro_rules! in_words {
    ($($word:ty, $bytes:literal;)*) => {$(
        impl<T: Copy, const WORDS: usize> Passed<T, WORDS> for InWords<$bytes> {
            type Type = [$word; WORDS];

            #[inline(always)]
            unsafe fn take(passed: [$word; WORDS]) -> T {
                const { assert!(size_of::<T>() == size_of::<[$word; WORDS]>()) };
                // SAFETY: the bytes are those of a `T`, and all of them.
                unsafe { transmute_copy(&passed) }
            }
        }
    )*};
}
in_words! { u16, 2; u32, 4; u64, 8; u128, 16; }
