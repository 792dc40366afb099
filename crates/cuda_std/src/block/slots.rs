//! [`Slots`]: one value per thread, folded by a tree in shared memory.

use core::marker::PhantomData;

use super::Block;
use super::shared::{Brand, Shared};
use crate::Plain;

/// One value per thread in shared memory; each fold leaves about half of them: [`Shared::slots`].
///
/// [`Scratch::reduce`](super::Scratch::reduce) is faster: it replaces these trees.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// sums\[block\] = the sum of the block's share of the input
/// #[kernel(shared(slots = block.threads()))]
/// pub fn sum(block: &mut Block, slots: Shared<[f32]>, input: &[f32], mut sums: Out<f32, PerBlock>) {
///     let share = block.fold_strided(input, 0.0, |sum, x| sum + x);
///     let Some(mut slots) = slots.slots(block, share) else { return };
///     while slots.len() > 1 {
///         slots.fold_halves(block, |low, high| low + high);
///     }
///     if let Some(sum) = slots.mine() {
///         sums.store(block, sum);
///     }
/// }
/// ```
pub struct Slots<'s, T: Plain> {
    first: *mut T,
    /// Value v is in slot v · `distance` and belongs to thread v: no other thread writes that slot
    /// before a barrier.
    distance: u32,
    len: u32,
    thread: u32,
    brand: Brand<'s>,
}

/// Puts each thread's value into its own slot.
///
/// # Safety
/// `first` points to an array in a `Shared` with one element per thread of the block.
#[inline(always)]
unsafe fn slots<'s, T: Plain, const X: usize, const Y: usize, const Z: usize>(
    first: *mut T,
    block: &Block<X, Y, Z>,
    value: T,
) -> Slots<'s, T> {
    let thread = block.thread();
    // SAFETY: slot t belongs to thread t, like element t of a shared array (`Array`).
    unsafe { first.add(thread).write(value) };
    Slots {
        first,
        distance: 1,
        len: block.threads() as u32,
        thread: thread as u32,
        brand: PhantomData,
    }
}

impl<'s, T: Plain> Shared<'s, [T]> {
    /// Puts each thread's value into its own slot. `None`, in every thread, if the array has fewer
    /// slots than the block has threads.
    #[inline(always)]
    pub fn slots<const X: usize, const Y: usize, const Z: usize>(
        self,
        block: &Block<X, Y, Z>,
        value: T,
    ) -> Option<Slots<'s, T>> {
        // SAFETY: just compared.
        (self.len() >= block.threads()).then(|| unsafe { slots(self.0.cast(), block, value) })
    }
}

impl<'s, T: Plain, const N: usize> Shared<'s, [T; N]> {
    /// Puts each thread's value into its own slot. Does not compile if there are fewer slots than
    /// the block has threads, or fewer than 1024 if the block's type does not fix their number.
    #[inline(always)]
    pub fn slots<const X: usize, const Y: usize, const Z: usize>(
        self,
        block: &Block<X, Y, Z>,
        value: T,
    ) -> Slots<'s, T> {
        const {
            let threads = Block::<X, Y, Z>::THREADS;
            let threads = if threads == 0 { 1024 } else { threads };
            assert!(N >= threads, "fewer slots than the block has threads");
        }
        // SAFETY: no block has more threads than was just compared with.
        unsafe { slots(self.0.cast(), block, value) }
    }
}

impl<T: Plain> Slots<'_, T> {
    /// The number of remaining values.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// After a barrier, folds the upper half of the values into the lower one; an odd value in the
    /// middle is unchanged.
    ///
    /// Adjacent threads access adjacent slots.
    #[inline(always)]
    pub fn fold_halves<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &mut Block<X, Y, Z>,
        op: impl FnOnce(T, T) -> T,
    ) {
        // Orders earlier writes before this round's reads.
        block.sync_threads(());
        let half = self.len.div_ceil(2);
        if self.thread < self.len - half {
            // SAFETY: both values remain. Values from `half` on are not written in this round, and
            // only this thread accesses value `thread`.
            unsafe {
                let high = self.slot(self.thread + half).read();
                let low = self.slot(self.thread);
                low.write(op(low.read(), high));
            }
        }
        self.len = half;
    }

    /// After a barrier, folds each odd-numbered value into the one before it; a last one without a
    /// partner is unchanged.
    ///
    /// The distance between the threads' slots doubles with each call, so they use fewer and fewer
    /// banks: the baseline for [`fold_halves`](Self::fold_halves).
    #[inline(always)]
    pub fn fold_interleaved<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &mut Block<X, Y, Z>,
        op: impl FnOnce(T, T) -> T,
    ) {
        // Orders earlier writes before this round's reads.
        block.sync_threads(());
        let even = 2 * self.thread;
        if even + 1 < self.len {
            // SAFETY: both values remain. Odd ones are not written in this round, and only this
            // thread accesses this even one.
            unsafe {
                let odd = self.slot(even + 1).read();
                let even = self.slot(even);
                even.write(op(even.read(), odd));
            }
        }
        self.distance *= 2;
        self.len = self.len.div_ceil(2);
    }

    /// This thread's value, if it remains: remaining value t belongs to thread t.
    #[inline(always)]
    pub fn mine(&self) -> Option<T> {
        // SAFETY: it remains. It was last written by this thread, or by another one before the last
        // barrier; its next write follows the next barrier.
        (self.thread < self.len).then(|| unsafe { self.slot(self.thread).read() })
    }

    /// The slot of a value.
    ///
    /// # Safety
    /// `value` is below `len`.
    #[inline(always)]
    unsafe fn slot(&self, value: u32) -> *mut T {
        // SAFETY: value · distance is below the number of threads.
        unsafe { self.first.add((value * self.distance) as usize) }
    }
}
