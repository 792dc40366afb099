//! Atomics that take the ordering as an argument. With a constant ordering the other branches are
//! removed.
//!
//! A sequentially consistent operation is a `fence.sc` followed by an acquire operation, as in
//! CUDA's C++ library.
//!
//! # Safety
//! As in [`intrinsics`]. On the host all functions panic.

#![allow(
    clippy::missing_safety_doc,
    reason = "the module's documentation states it once"
)]

use core::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use cuda_std_macros::paste;

use super::intrinsics;

macro_rules! with_ordering {
    ($($scope:ident)*) => { paste! {$(
        #[doc = concat!("Orders this thread's accesses before the fence against those after it, as the ", stringify!($scope), " sees them.")]
        #[inline(always)]
        pub fn [<$scope _thread_fence>](ordering: Ordering) {
            // SAFETY: a fence accesses nothing.
            unsafe {
                match ordering {
                    Relaxed => {}
                    SeqCst => intrinsics::[<fence_sc_ $scope>](),
                    _ => intrinsics::[<fence_acqrel_ $scope>](),
                }
            }
        }

        with_ordering!(@load_store $scope 32 u32);
        with_ordering!(@load_store $scope 64 u64);
        with_ordering!(@fetch $scope u32 and or xor add sub exch min max);
        with_ordering!(@fetch $scope u64 and or xor add sub exch min max);
        with_ordering!(@fetch $scope i32 and or xor add sub exch min max);
        with_ordering!(@fetch $scope i64 and or xor add sub exch min max);
        with_ordering!(@fetch $scope f32 and or xor add sub exch);
        with_ordering!(@fetch $scope f64 and or xor add sub exch);
        with_ordering!(@cas $scope u32 u64 i32 i64 f32 f64);
    )*}};
    (@load_store $scope:ident $width:literal $t:ident) => { paste! {
        /// Reads the value. Panics if `ordering` releases.
        #[inline(always)]
        pub unsafe fn [<atomic_load_ $width _ $scope>](ptr: *mut $t, ordering: Ordering) -> $t {
            // SAFETY: passed on to the caller.
            unsafe {
                match ordering {
                    Relaxed => intrinsics::[<atomic_load_relaxed_ $width _ $scope>](ptr),
                    Acquire => intrinsics::[<atomic_load_acquire_ $width _ $scope>](ptr),
                    SeqCst => {
                        intrinsics::[<fence_sc_ $scope>]();
                        intrinsics::[<atomic_load_acquire_ $width _ $scope>](ptr)
                    }
                    _ => panic!("a load cannot release"),
                }
            }
        }
        /// Writes the value. Panics if `ordering` acquires.
        #[inline(always)]
        pub unsafe fn [<atomic_store_ $width _ $scope>](ptr: *mut $t, ordering: Ordering, val: $t) {
            // SAFETY: passed on to the caller.
            unsafe {
                match ordering {
                    Relaxed => intrinsics::[<atomic_store_relaxed_ $width _ $scope>](ptr, val),
                    Release => intrinsics::[<atomic_store_release_ $width _ $scope>](ptr, val),
                    SeqCst => {
                        intrinsics::[<fence_sc_ $scope>]();
                        intrinsics::[<atomic_store_relaxed_ $width _ $scope>](ptr, val)
                    }
                    _ => panic!("a store cannot acquire"),
                }
            }
        }
    }};
    (@fetch $scope:ident $t:ident $($op:ident)*) => { paste! {$(
        #[doc = concat!("Replaces the value by the result of `", stringify!($op), "` with `val`, and returns the old one.")]
        #[inline(always)]
        pub unsafe fn [<atomic_fetch_ $op _ $t _ $scope>](ptr: *mut $t, ordering: Ordering, val: $t) -> $t {
            // SAFETY: passed on to the caller.
            unsafe {
                match ordering {
                    Relaxed => intrinsics::[<atomic_fetch_ $op _relaxed_ $t _ $scope>](ptr, val),
                    Acquire => intrinsics::[<atomic_fetch_ $op _acquire_ $t _ $scope>](ptr, val),
                    Release => intrinsics::[<atomic_fetch_ $op _release_ $t _ $scope>](ptr, val),
                    AcqRel => intrinsics::[<atomic_fetch_ $op _acqrel_ $t _ $scope>](ptr, val),
                    _ => {
                        intrinsics::[<fence_sc_ $scope>]();
                        intrinsics::[<atomic_fetch_ $op _acqrel_ $t _ $scope>](ptr, val)
                    }
                }
            }
        }
    )*}};
    (@cas $scope:ident $($t:ident)*) => { paste! {$(
        /// Replaces the value by `new` if it has the bits of `current`, and returns the old one.
        #[inline(always)]
        pub unsafe fn [<atomic_compare_and_swap_ $t _ $scope>](ptr: *mut $t, current: $t, new: $t, ordering: Ordering) -> $t {
            // SAFETY: passed on to the caller.
            unsafe {
                match ordering {
                    Relaxed => intrinsics::[<atomic_fetch_cas_relaxed_ $t _ $scope>](ptr, current, new),
                    Acquire => intrinsics::[<atomic_fetch_cas_acquire_ $t _ $scope>](ptr, current, new),
                    Release => intrinsics::[<atomic_fetch_cas_release_ $t _ $scope>](ptr, current, new),
                    AcqRel => intrinsics::[<atomic_fetch_cas_acqrel_ $t _ $scope>](ptr, current, new),
                    _ => {
                        intrinsics::[<fence_sc_ $scope>]();
                        intrinsics::[<atomic_fetch_cas_acqrel_ $t _ $scope>](ptr, current, new)
                    }
                }
            }
        }
    )*}};
}
with_ordering!(block device system);

/// Increments, or resets to 0 if the value is `bound` or more, and returns the old value: CUDA's
/// `atomicInc`. Relaxed.
#[inline(always)]
pub unsafe fn atomic_inc_bounded_relaxed_u32_device(ptr: *mut u32, bound: u32) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe { replace(ptr, |old| if old >= bound { 0 } else { old + 1 }) }
}

/// Decrements, or resets to `bound` if the value is 0 or more than `bound`, and returns the old
/// value: CUDA's `atomicDec`. Relaxed.
#[inline(always)]
pub unsafe fn atomic_dec_bounded_relaxed_u32_device(ptr: *mut u32, bound: u32) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe {
        replace(ptr, |old| {
            if old == 0 || old > bound {
                bound
            } else {
                old - 1
            }
        })
    }
}

/// Replaces the value by a function of it, and returns the old one.
#[inline(always)]
unsafe fn replace(ptr: *mut u32, next: impl Fn(u32) -> u32) -> u32 {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut old = intrinsics::atomic_load_relaxed_32_device(ptr);
        loop {
            let seen = intrinsics::atomic_fetch_cas_relaxed_u32_device(ptr, old, next(old));
            if seen == old {
                return old;
            }
            old = seen;
        }
    }
}
