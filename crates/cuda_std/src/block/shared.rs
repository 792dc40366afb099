//! Shared arrays as typestates: [`Shared`] → [`Written`] → [`Published`].

use core::marker::PhantomData;
use core::ops::Deref;

use super::array::write_own;
use super::phase::Phase;
use super::{Array, Block};
use crate::Plain;

/// The lifetime of one shared array, invariant, so that it equals no other array's. Not `Send`.
pub(super) type Brand<'s> = PhantomData<(fn(&'s ()) -> &'s (), *mut ())>;

/// A shared array that no thread reads: a kernel's parameter, and the state of a published array
/// after the next barrier.
///
/// A thread holds one of three states:
///
///
/// | state | what a thread may do | next state |
/// | --- | --- | --- |
/// | `Shared` | nothing but [`write`](Self::write) its own elements, every one | `Written` |
/// | [`Written`] | nothing | [`Block::sync_threads`]: `Published` |
/// | [`Published`] | read every element | [`Block::sync_threads`]: `Shared` |
///
/// A thread's own elements are t, t + threads, …: see [`Array`]. Each array has its own lifetime:
/// two arrays of one type cannot be swapped.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Reverses each tile of 256 elements.
/// #[kernel(require(input.len() == output.len(), input.len() % 256 == 0))]
/// pub fn reverse_tiles(block: &mut Block<256>, mut tile: Shared<[u32; 256]>, input: &[u32], mut output: Out<u32>) {
///     for place in block.tiles(input.len()) {
///         let written = tile.write(block, |i| input[place.start() + i]);
///         // Every thread's write comes before any thread's read.
///         let loaded = block.sync_threads(written);
///         output.store(block, place, |i| loaded[255 - i % 256]);
///         // Every thread's read comes before any thread's next write.
///         tile = block.sync_threads(loaded);
///     }
/// }
/// ```
#[must_use = "a shared array is written, or refilled"]
pub struct Shared<'s, A: Array + ?Sized>(pub(super) *mut A, pub(super) Brand<'s>);

/// A shared array of which every thread has written its own elements. The next barrier publishes
/// it.
#[must_use = "a barrier publishes it: `block.sync_threads(written)`"]
pub struct Written<'s, A: Array + ?Sized>(pub(super) *mut A, pub(super) Brand<'s>);

/// A shared array that every thread may read, and none writes. The next barrier that it is passed
/// to makes it writable again.
///
/// Choosing between a reference into it and one to other memory does not build for the device,
/// whose loads are for one address space: write `tile.get(i).copied().unwrap_or(0)` instead of
/// `*tile.get(i).unwrap_or(&0)`.
pub struct Published<'s, A: Array + ?Sized>(pub(super) *mut A, pub(super) Brand<'s>);

/// Calls `body` with the array, which has its own lifetime.
///
/// # Safety
/// `memory` is an aligned array in the block's shared memory that nothing else uses while the
/// kernel runs. Every thread of the block calls it once for this array, at the same place.
#[doc(hidden)]
#[inline(always)]
pub unsafe fn with_shared<A: Array + ?Sized, R>(
    memory: *mut A,
    body: impl for<'s> FnOnce(Shared<'s, A>) -> R,
) -> R {
    body(Shared(memory, PhantomData))
}

impl<'s, A: Array + ?Sized> Shared<'s, A> {
    /// Writes every element: each thread calls `value` for each of its own, in ascending order.
    #[inline(always)]
    pub fn write<const X: usize, const Y: usize, const Z: usize>(
        self, // in a loop, the round ends with `tile = block.sync_threads(loaded);`
        block: &Block<X, Y, Z>,
        value: impl FnMut(A::Index) -> A::Element, // `tile.write(block, |i| x[i])`, of a `Tile` `|(row, col)|`
    ) -> Written<'s, A> {
        // SAFETY: no thread reads a `Shared` array, and no other thread has these elements,
        // whichever function writes them.
        unsafe { write_own(self.0, block, value) };
        Written(self.0, PhantomData)
    }

    /// The same array, for repeated filling.
    #[inline(always)]
    pub fn refill(self) -> Refill<'s, A> {
        Refill {
            array: self.0,
            filled: false,
            brand: PhantomData,
        }
    }
}

impl<T: Plain> Shared<'_, [T]> {
    /// The number of elements.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no elements.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Plain, const N: usize> Shared<'_, [T; N]> {
    /// The number of elements.
    #[inline(always)]
    pub fn len(&self) -> usize {
        N
    }

    /// Whether there are no elements.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        N == 0
    }
}

impl<A: Array + ?Sized> Deref for Published<'_, A> {
    type Target = A;

    #[inline(always)]
    fn deref(&self) -> &A {
        // SAFETY: only `Written` and `Counting` become `Published`, at a barrier that every thread
        // passed after writing its elements. The next write needs a `Shared`, which follows a
        // barrier to which every thread gives its `Published`, and with it all references.
        unsafe { &*self.0 }
    }
}

// SAFETY: every thread's elements are written when it gives up `Written`, and the barrier orders
// that before all reads.
unsafe impl<'s, A: Array + ?Sized> Phase for Written<'s, A> {
    type Next = Published<'s, A>;

    #[inline(always)]
    unsafe fn next(self) -> Self::Next {
        Published(self.0, PhantomData)
    }
}

// SAFETY: every thread has finished its reads when it gives up `Published`, and the barrier orders
// them before all writes.
unsafe impl<'s, A: Array + ?Sized> Phase for Published<'s, A> {
    type Next = Shared<'s, A>;

    #[inline(always)]
    unsafe fn next(self) -> Self::Next {
        Shared(self.0, PhantomData)
    }
}

/// A shared array for loops: [`fill`](Self::fill) is a barrier (except the first time), all
/// threads' writes, and a barrier.
#[must_use = "nothing is written until `fill` is called"]
pub struct Refill<'s, A: Array + ?Sized> {
    array: *mut A,
    /// Whether it has been filled, so that threads may still read it. The same in all threads,
    /// which call `fill` at the same places.
    filled: bool,
    brand: Brand<'s>,
}

impl<A: Array + ?Sized> Refill<'_, A> {
    /// Writes every element anew, like [`Shared::write`]; the result can be read until the next
    /// call. The first call has no barrier before its writes, because no thread reads yet: a block
    /// with one tile does not wait for its slowest warp to start.
    #[inline(always)]
    pub fn fill<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &mut Block<X, Y, Z>,
        value: impl FnMut(A::Index) -> A::Element,
    ) -> &A {
        if self.filled {
            // Orders every thread's reads of the old contents, whose borrow ended before this call,
            // before any thread's writes.
            block.sync_threads(());
        }
        self.filled = true;
        // SAFETY: no thread reads a `Shared` array, nor between the two barriers, and no other
        // thread has these elements.
        unsafe { write_own(self.array, block, value) };
        // Orders every thread's writes before any thread's reads.
        block.sync_threads(());
        // SAFETY: every element is written, and the borrow ends before the next call.
        unsafe { &*self.array }
    }
}
