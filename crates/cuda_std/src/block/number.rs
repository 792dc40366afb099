//! The numbers that atomics operate on.

use cuda_std_macros::paste;

use crate::Plain;
use crate::atomic::intrinsics;

/// A number that [`Atomics`](super::Atomics) add: `u32`, `i32`, `u64`, `i64`, `f32`, `f64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no atomic operations",
    note = "`u32`, `i32`, `u64`, `i64`, `f32` and `f64` have"
)]
pub trait Number: Plain + sealed::Atomic {}

/// An integer that [`Counting`](super::Counting) counts in, and that [`Atomics`](super::Atomics)
/// can take the minimum and maximum of: `u32`, `i32`, `u64`, `i64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot count atomically",
    note = "`u32`, `i32`, `u64` and `i64` can; floats only `.add(i, x)`, and the largest of a block is `scratch.reduce(block, x, f32::max)`"
)]
pub trait Counter: Number + sealed::Integer {}

pub(super) mod sealed {
    /// # Safety
    /// All functions: `place` points to an element that is accessed only atomically. They are
    /// relaxed.
    pub trait Atomic: Sized {
        unsafe fn load(place: *mut Self) -> Self;
        unsafe fn add(place: *mut Self, value: Self) -> Self;
    }

    /// # Safety
    /// As for [`Atomic`].
    pub trait Integer: Sized {
        const ZERO: Self;
        unsafe fn add_in_block(place: *mut Self, value: Self) -> Self;
        unsafe fn min(place: *mut Self, value: Self) -> Self;
        unsafe fn max(place: *mut Self, value: Self) -> Self;
    }
}

macro_rules! numbers {
    ($($t:ident $bits:literal $from:expr;)*) => { paste! {$(
        impl Number for $t {}
        impl sealed::Atomic for $t {
            #[inline(always)]
            unsafe fn load(place: *mut Self) -> Self {
                // SAFETY: passed on to the caller.
                ($from)(unsafe { intrinsics::[<atomic_load_relaxed_ $bits _device>](place.cast()) })
            }
            #[inline(always)]
            unsafe fn add(place: *mut Self, value: Self) -> Self {
                // SAFETY: passed on to the caller.
                unsafe { intrinsics::[<atomic_fetch_add_relaxed_ $t _device>](place, value) }
            }
        }
    )*}};
}
numbers! {
    u32 32 core::convert::identity::<u32>;
    i32 32 u32::cast_signed;
    f32 32 f32::from_bits;
    u64 64 core::convert::identity::<u64>;
    i64 64 u64::cast_signed;
    f64 64 f64::from_bits;
}

macro_rules! counters {
    ($($t:ident $atomic:ident;)*) => { paste! {$(
        impl Counter for $t {}
        impl sealed::Integer for $t {
            const ZERO: Self = 0;
            #[inline(always)]
            unsafe fn add_in_block(place: *mut Self, value: Self) -> Self {
                use core::sync::atomic::{$atomic, Ordering};
                // Not the intrinsic, which is assembly and takes a generic address: here LLVM knows
                // that the element is in shared memory.
                // SAFETY: passed on to the caller.
                unsafe { $atomic::from_ptr(place) }.fetch_add(value, Ordering::Relaxed)
            }
            #[inline(always)]
            unsafe fn min(place: *mut Self, value: Self) -> Self {
                // SAFETY: passed on to the caller.
                unsafe { intrinsics::[<atomic_fetch_min_relaxed_ $t _device>](place, value) }
            }
            #[inline(always)]
            unsafe fn max(place: *mut Self, value: Self) -> Self {
                // SAFETY: passed on to the caller.
                unsafe { intrinsics::[<atomic_fetch_max_relaxed_ $t _device>](place, value) }
            }
        }
    )*}};
}
counters! {
    u32 AtomicU32;
    i32 AtomicI32;
    u64 AtomicU64;
    i64 AtomicI64;
}
