//! Atomics on floats, as reductions across blocks need them. Integers have `core::sync::atomic`.

use core::cell::UnsafeCell;
pub use core::sync::atomic::Ordering;
use core::sync::atomic::{AtomicU32, AtomicU64};

macro_rules! atomic_float {
    ($name:ident, $t:ident, $bits:ident, $atomic:ident, $doc:literal) => {
        #[doc = $doc]
        #[repr(transparent)]
        pub struct $name(UnsafeCell<$t>);

        // SAFETY: every access through a shared reference is atomic.
        unsafe impl Sync for $name {}

        impl $name {
            /// Starts at `value`.
            pub const fn new(value: $t) -> Self {
                Self(UnsafeCell::new(value))
            }

            /// The value, without synchronisation: nobody else holds it.
            pub fn into_inner(self) -> $t {
                self.0.into_inner()
            }

            /// An atomic view of a plain float, such as one element of an output buffer.
            ///
            /// # Safety
            /// `pointer` is valid and aligned for `'a`, and during that time everybody accesses the value atomically.
            #[inline(always)]
            pub unsafe fn from_ptr<'a>(pointer: *mut $t) -> &'a Self {
                // SAFETY: same layout; the rest is the caller's promise.
                unsafe { &*pointer.cast() }
            }

            #[inline(always)]
            fn bits(&self) -> &$atomic {
                // SAFETY: same size and alignment, and all accesses are atomic.
                unsafe { $atomic::from_ptr(self.0.get().cast()) }
            }

            /// Reads the value. Panics if `order` is `Release` or `AcqRel`, as core's atomics do.
            #[inline(always)]
            pub fn load(&self, order: Ordering) -> $t {
                $t::from_bits(self.bits().load(order))
            }

            /// Writes the value. Panics if `order` is `Acquire` or `AcqRel`, as core's atomics do.
            #[inline(always)]
            pub fn store(&self, value: $t, order: Ordering) {
                self.bits().store(value.to_bits(), order)
            }

            /// Adds `value` and returns what was there before.
            ///
            /// The order in which threads add is not fixed, and float addition rounds: sums may differ between runs.
            #[inline(always)]
            pub fn fetch_add(&self, value: $t, order: Ordering) -> $t {
                self.update(order, |old| old + value)
            }

            /// Subtracts `value` and returns what was there before.
            #[inline(always)]
            pub fn fetch_sub(&self, value: $t, order: Ordering) -> $t {
                self.update(order, |old| old - value)
            }

            /// Replaces the value by the smaller of it and `value` (the other one if one is NaN); returns the old one.
            #[inline(always)]
            pub fn fetch_min(&self, value: $t, order: Ordering) -> $t {
                self.update(order, |old| old.min(value))
            }

            /// Replaces the value by the larger of it and `value` (the other one if one is NaN); returns the old one.
            #[inline(always)]
            pub fn fetch_max(&self, value: $t, order: Ordering) -> $t {
                self.update(order, |old| old.max(value))
            }

            /// A compare-and-swap loop: `cmpxchg` keeps its ordering through LLVM 22, which `atomicrmw` does not.
            #[inline(always)]
            fn update(&self, order: Ordering, f: impl Fn($t) -> $t) -> $t {
                let mut old = self.bits().load(Ordering::Relaxed);
                loop {
                    let new = f($t::from_bits(old)).to_bits();
                    match self
                        .bits()
                        .compare_exchange_weak(old, new, order, Ordering::Relaxed)
                    {
                        Ok(old) => return $t::from_bits(old),
                        Err(now) => old = now,
                    }
                }
            }
        }
    };
}

atomic_float!(
    AtomicF32,
    f32,
    u32,
    AtomicU32,
    "An `f32` that threads change without races."
);
atomic_float!(
    AtomicF64,
    f64,
    u64,
    AtomicU64,
    "An `f64` that threads change without races."
);

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
        assert_eq!(sum.into_inner(), 7.0);
    }
}
