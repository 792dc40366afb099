//! Atomic floats, and atomics with a scope. Integers also have `core::sync::atomic`, whose
//! operations and fences all have system scope: Rust's atomics are atomic for every thread that can
//! reach the memory.
//!
//! A scope is the set of threads among which an operation is atomic and ordered: `Block…` the
//! block, `Atomic…` the device, `System…` the device, its peers and the host; of one type, every
//! operation has the same. Two accesses are atomic to each other if the scope of each includes the
//! other's thread: on one cell, use one type. On the host they behave like core's atomics.

pub mod intrinsics;
pub mod mid;
#[cfg(target_arch = "nvptx64")]
mod word;

use core::cell::UnsafeCell;
pub use core::sync::atomic::Ordering;
#[cfg(not(target_arch = "nvptx64"))]
use core::sync::atomic::{AtomicU32, AtomicU64};

use cuda_std_macros::paste;

macro_rules! atomic_float {
    ($name:ident, $t:ident, $width:literal, $atomic:ident, $scope:ident $(, $unsafe:ident)?) => { paste! {
        #[doc = concat!("An `", stringify!($t), "` that the threads of a ", stringify!($scope), " change without races.")]
        $(
            #[doc = ""]
            #[doc = concat!("Its operations are `", stringify!($unsafe), "`: threads of other blocks must not take part.")]
        )?
        #[repr(transparent)]
        pub struct $name(UnsafeCell<$t>);

        // SAFETY: every access through a shared reference is atomic.
        unsafe impl Sync for $name {}

        #[cfg_attr(target_arch = "nvptx64", allow(unused_unsafe, reason = "one text for safe and unsafe ones"))]
        #[allow(clippy::missing_safety_doc, unused_unsafe, reason = "the type says it once")]
        impl $name {
            /// Starts at `value`.
            pub const fn new(value: $t) -> Self {
                Self(UnsafeCell::new(value))
            }

            /// The value, without synchronisation: no other reference exists.
            pub fn into_inner(self) -> $t {
                self.0.into_inner()
            }

            /// An atomic view of a plain float, such as one element of an output buffer.
            ///
            /// # Safety
            /// `pointer` is valid and aligned for `'a`, and during that time all accesses to the
            /// value are atomic.
            #[inline(always)]
            pub unsafe fn from_ptr<'a>(pointer: *mut $t) -> &'a Self {
                // SAFETY: same layout; the rest is the caller's promise.
                unsafe { &*pointer.cast() }
            }

            #[cfg(not(target_arch = "nvptx64"))]
            #[inline(always)]
            fn bits(&self) -> &$atomic {
                // SAFETY: same size and alignment, and all accesses are atomic.
                unsafe { $atomic::from_ptr(self.0.get().cast()) }
            }

            /// Reads the value. Panics if `order` is `Release` or `AcqRel`, as core's atomics do.
            #[inline(always)]
            pub $($unsafe)? fn load(&self, order: Ordering) -> $t {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the pointer is to this value, and all accesses are atomic.
                return $t::from_bits(unsafe { mid::[<atomic_load_ $width _ $scope>](self.0.get().cast(), order) });
                #[cfg(not(target_arch = "nvptx64"))]
                $t::from_bits(self.bits().load(order))
            }

            /// Writes the value. Panics if `order` is `Acquire` or `AcqRel`, as core's atomics do.
            #[inline(always)]
            pub $($unsafe)? fn store(&self, value: $t, order: Ordering) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the pointer is to this value, and all accesses are atomic.
                unsafe { mid::[<atomic_store_ $width _ $scope>](self.0.get().cast(), order, value.to_bits()) };
                #[cfg(not(target_arch = "nvptx64"))]
                self.bits().store(value.to_bits(), order)
            }

            atomic_float! {
                @fetch $t $scope [$($unsafe)?]
                add "Adds `value`, and returns what was there before. The order in which threads add is not fixed, and float addition rounds: sums may differ between runs." |old, value| old + value;
                sub "Subtracts `value`, and returns what was there before." |old, value| old - value;
                and "Replaces the value's bits by their conjunction with those of `value`; returns the old value." |old, value| $t::from_bits(old.to_bits() & value.to_bits());
                or "Replaces the value's bits by their disjunction with those of `value`; returns the old value." |old, value| $t::from_bits(old.to_bits() | value.to_bits());
                xor "Replaces the value's bits by their exclusive disjunction with those of `value`; returns the old value." |old, value| $t::from_bits(old.to_bits() ^ value.to_bits());
            }

            /// Replaces the value by the smaller of it and `value` (the other one if one is NaN);
            /// returns the old one.
            #[inline(always)]
            pub $($unsafe)? fn fetch_min(&self, value: $t, order: Ordering) -> $t {
                self.update(order, |old| old.min(value))
            }

            /// Replaces the value by the larger of it and `value` (the other one if one is NaN);
            /// returns the old one.
            #[inline(always)]
            pub $($unsafe)? fn fetch_max(&self, value: $t, order: Ordering) -> $t {
                self.update(order, |old| old.max(value))
            }

            /// A compare-and-swap loop, for operations without an instruction.
            #[inline(always)]
            fn update(&self, order: Ordering, f: impl Fn($t) -> $t) -> $t {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the pointer is to this value, and all accesses are atomic.
                unsafe {
                    let place = self.0.get();
                    let mut old = mid::[<atomic_load_ $width _ $scope>](place.cast(), Ordering::Relaxed);
                    loop {
                        let new = f($t::from_bits(old));
                        let found = mid::[<atomic_compare_and_swap_ $t _ $scope>](place, $t::from_bits(old), new, order).to_bits();
                        if found == old {
                            return $t::from_bits(old);
                        }
                        old = found;
                    }
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let mut old = self.bits().load(Ordering::Relaxed);
                    loop {
                        let new = f($t::from_bits(old)).to_bits();
                        match self.bits().compare_exchange_weak(old, new, order, Ordering::Relaxed) {
                            Ok(old) => return $t::from_bits(old),
                            Err(now) => old = now,
                        }
                    }
                }
            }
        }
    }};
    (@fetch $t:ident $scope:ident $unsafe:tt $($op:ident $doc:literal $host:expr;)*) => {
        $( atomic_float!(@one $t $scope $unsafe $op $doc $host); )*
    };
    (@one $t:ident $scope:ident [$($unsafe:ident)?] $op:ident $doc:literal $host:expr) => { paste! {
        #[doc = $doc]
        #[inline(always)]
        pub $($unsafe)? fn [<fetch_ $op>](&self, value: $t, order: Ordering) -> $t {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the pointer is to this value, and all accesses are atomic.
            return unsafe { mid::[<atomic_fetch_ $op _ $t _ $scope>](self.0.get(), order, value) };
            #[cfg(not(target_arch = "nvptx64"))]
            self.update(order, |old| ($host as fn($t, $t) -> $t)(old, value))
        }
    }};
}

atomic_float!(AtomicF32, f32, 32, AtomicU32, device);
atomic_float!(AtomicF64, f64, 64, AtomicU64, device);
atomic_float!(BlockAtomicF32, f32, 32, AtomicU32, block, unsafe);
atomic_float!(BlockAtomicF64, f64, 64, AtomicU64, block, unsafe);
atomic_float!(SystemAtomicF32, f32, 32, AtomicU32, system);
atomic_float!(SystemAtomicF64, f64, 64, AtomicU64, system);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_return_the_old_value_and_lose_nothing() {
        let sum = AtomicF64::new(0.0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        sum.fetch_add(1.0, Ordering::AcqRel);
                    }
                });
            }
        });
        assert_eq!(sum.fetch_sub(1.0, Ordering::Relaxed), 4000.0);
        assert_eq!(sum.fetch_min(7.0, Ordering::Relaxed), 3999.0);
        assert_eq!(sum.fetch_max(f64::NAN, Ordering::Relaxed), 7.0);
        assert_eq!(sum.fetch_xor(-0.0, Ordering::Relaxed), 7.0);
        assert_eq!(
            sum.fetch_and(f64::from_bits(u64::MAX >> 1), Ordering::Relaxed),
            -7.0
        );
        assert_eq!(sum.fetch_or(-0.0, Ordering::Relaxed), 7.0);
        assert_eq!(sum.into_inner(), -7.0);
    }
}
