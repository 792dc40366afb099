//! [`Ring`]: several shared arrays in turn, with one barrier per step.

use core::marker::PhantomData;

use super::array::write_own;
use super::shared::Brand;
use super::{Array, Block};

/// `N` shared arrays, at least two: one is read while the next one is written. A kernel's
/// parameter.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// output\[i\] = input\[i\] + its neighbour's in the tile
/// #[kernel(require(input.len() == output.len()))]
/// pub fn neighbours(block: &mut Block<64>, mut tiles: Ring<[u32; 64], 2>, input: &[u32], mut output: Out<u32>) {
///     for place in block.tiles(input.len()) {
///         let tile = tiles.next(block, |i| input.get(place.start() + i).copied().unwrap_or(0));
///         output.store(block, place, |i| tile[i % 64].wrapping_add(tile[(i + 1) % 64]));
///     }
/// }
/// ```
#[must_use = "nothing is written until `next` is called"]
pub struct Ring<'s, A: Array, const N: usize> {
    arrays: *mut [A; N],
    /// The array being read.
    at: usize,
    brand: Brand<'s>,
}

/// Calls `body` with the ring, which has its own lifetime.
///
/// # Safety
/// As for [`with_shared`](super::with_shared).
#[doc(hidden)]
#[inline(always)]
pub unsafe fn with_ring<A: Array, const N: usize, R>(
    memory: *mut [A; N],
    body: impl for<'s> FnOnce(Ring<'s, A, N>) -> R,
) -> R {
    const {
        assert!(
            N >= 2,
            "a ring of one array would be written while it is read"
        )
    };
    body(Ring {
        arrays: memory,
        at: N - 1,
        brand: PhantomData,
    })
}

impl<A: Array, const N: usize> Ring<'_, A, N> {
    /// Writes every element of the next array, like [`Shared::write`](super::Shared::write); the
    /// result can be read until the next call.
    #[inline(always)]
    pub fn next<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &mut Block<X, Y, Z>,
        value: impl FnMut(A::Index) -> A::Element,
    ) -> &A {
        self.at = if self.at + 1 == N { 0 } else { self.at + 1 };
        let array = self.arrays.cast::<A>().wrapping_add(self.at);
        // SAFETY: `at` is below N. The last reads of this array followed the call N calls ago, and
        // their borrow ended before the call after that one, whose barrier this thread has passed
        // (N ≥ 2): no thread reads it any more. No other thread has these elements.
        unsafe { write_own(array, block, value) };
        // Orders every thread's writes before any thread's reads, and the reads of the previous
        // array before the writes of the call after next.
        block.sync_threads(());
        // SAFETY: every element is written, and the next writes to this array follow the end of the
        // borrow and a barrier.
        unsafe { &*array }
    }
}
