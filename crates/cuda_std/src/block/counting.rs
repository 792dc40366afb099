//! Histograms in shared memory: [`Zeroed`] → [`Counting`] → [`Published`].

use core::marker::PhantomData;

use super::array::write_own;
use super::number::Counter;
use super::number::sealed::Integer as _;
use super::phase::Phase;
use super::shared::{Brand, Published, Shared};
use super::{Array, Block};

/// Shared counters, each zeroed by its own thread. After the next barrier they can count.
#[must_use = "a barrier lets it count: `block.sync_threads(zeroed)`"]
pub struct Zeroed<'s, A: Array + ?Sized>(*mut A, Brand<'s>);

/// Shared counters that every thread may add to. After the next barrier that they are passed to,
/// they can be read.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Counts the bytes of a text by value: each block in shared memory, then all in global memory.
/// #[kernel(require(counts.len() == 256))]
/// pub fn byte_counts(block: &mut Block<256>, bins: Shared<[u32; 256]>, text: &[u8], counts: Atomics<u32>) {
///     let zeroed = bins.zeroed(block);
///     let bins = block.sync_threads(zeroed);
///     for tile in block.tiles(text.len()) {
///         if let Some(&byte) = text.get(tile.start() + block.thread()) {
///             bins.add(usize::from(byte), 1);
///         }
///     }
///     let bins = block.sync_threads(bins);
///     counts.add(block.thread(), bins[block.thread()]);
/// }
/// ```
#[must_use = "a barrier publishes it: `block.sync_threads(counting)`"]
pub struct Counting<'s, A: Array + ?Sized>(*mut A, Brand<'s>);

impl<'s, A: Array<Element: Counter> + ?Sized> Shared<'s, A> {
    /// Zeroes every element: each thread its own.
    #[inline(always)]
    pub fn zeroed<const X: usize, const Y: usize, const Z: usize>(
        self,
        block: &Block<X, Y, Z>,
    ) -> Zeroed<'s, A> {
        // SAFETY: as in `Shared::write`.
        unsafe { write_own(self.0, block, |_| A::Element::ZERO) };
        Zeroed(self.0, PhantomData)
    }
}

macro_rules! counting {
    ($([$($generics:tt)*] $array:ty;)*) => {$(
        impl<$($generics)*> Counting<'_, $array> {
            /// Adds `count` to a bin, wrapping, and returns the old value. A bin past the end is
            /// ignored and gives `None`.
            #[inline(always)]
            pub fn add(&self, bin: usize, count: T) -> Option<T> {
                if bin >= Array::len(self.0.cast_const()) {
                    return None;
                }
                // SAFETY: below the length; while it is `Counting`, all threads access it only
                // through this function, which is atomic.
                Some(unsafe { T::add_in_block(self.0.cast::<T>().add(bin), count) })
            }
        }
    )*};
}
counting! {
    [T: Counter] [T];
    [T: Counter, const N: usize] [T; N];
}

// SAFETY: every thread has zeroed its elements when it gives up `Zeroed`, and the barrier orders
// that before all additions.
unsafe impl<'s, A: Array + ?Sized> Phase for Zeroed<'s, A> {
    type Next = Counting<'s, A>;

    #[inline(always)]
    unsafe fn next(self) -> Self::Next {
        Counting(self.0, PhantomData)
    }
}

// SAFETY: every thread has finished its additions when it gives up `Counting`, and the barrier
// orders them before all reads.
unsafe impl<'s, A: Array + ?Sized> Phase for Counting<'s, A> {
    type Next = Published<'s, A>;

    #[inline(always)]
    unsafe fn next(self) -> Self::Next {
        Published(self.0, PhantomData)
    }
}
