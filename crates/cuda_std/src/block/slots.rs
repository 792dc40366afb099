//! [`Slots`]: a value of each thread, folded by a tree in shared memory.

use core::marker::PhantomData;

use super::Block;
use super::shared::{Brand, Shared};
use crate::Plain;

/// A value of each thread in shared memory, of which a fold leaves about half each time:
/// [`Shared::slots`].
///
/// [`Scratch::reduce`](super::Scratch::reduce) is the faster way; these are the trees that it
/// replaces.
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
    /// Value v is in slot v · `distance`, and thread v's own: nobody else writes that slot before a
    /// barrier.
    distance: u32,
    len: u32,
    thread: u32,
    brand: Brand<'s>,
}

/// Puts each thread's value into a slot of its own.
///
/// # Safety
/// `first` leads to an array in a `Shared` with an element for each thread of the block.
#[inline(always)]
unsafe fn slots<'s, T: Plain, const X: usize, const Y: usize, const Z: usize>(
    first: *mut T,
    block: &Block<X, Y, Z>,
    value: T,
) -> Slots<'s, T> {
    let thread = block.thread();
    // SAFETY: slot t is thread t's, as element t of a shared array is (`Array`).
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
    /// Puts each thread's value into a slot of its own. `None` when the array has fewer slots than
    /// the block has threads: then no thread has one.
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
    /// Puts each thread's value into a slot of its own. It does not compile when there are fewer
    /// slots than the block has threads: 1024, where its type does not say how many.
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
    /// The values that are left.
    #[inline(always)]
    #[allow(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// After a barrier, folds the upper half of the values into the lower one; an odd one in the
    /// middle stays.
    ///
    /// Neighbouring threads use neighbouring slots.
    #[inline(always)]
    pub fn fold_halves<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &mut Block<X, Y, Z>,
        op: impl FnOnce(T, T) -> T,
    ) {
        // What was written before comes before this round's reads.
        block.sync_threads(());
        let half = self.len.div_ceil(2);
        if self.thread < self.len - half {
            // SAFETY: both values are among those left. Values from `half` on are written by nobody
            // in this round, and value `thread` is read and written by this thread alone.
            unsafe {
                let high = self.slot(self.thread + half).read();
                let low = self.slot(self.thread);
                low.write(op(low.read(), high));
            }
        }
        self.len = half;
    }

    /// After a barrier, folds each value with an odd number into the one before it; the last one
    /// stays where it has no partner.
    ///
    /// The threads' slots are twice as far apart after each call, and meet in fewer and fewer
    /// banks: the tree to compare [`fold_halves`](Self::fold_halves) with.
    #[inline(always)]
    pub fn fold_interleaved<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &mut Block<X, Y, Z>,
        op: impl FnOnce(T, T) -> T,
    ) {
        // What was written before comes before this round's reads.
        block.sync_threads(());
        let even = 2 * self.thread;
        if even + 1 < self.len {
            // SAFETY: both values are among those left. Odd ones are written by nobody in this
            // round, and this even one is read and written by this thread alone.
            unsafe {
                let odd = self.slot(even + 1).read();
                let even = self.slot(even);
                even.write(op(even.read(), odd));
            }
        }
        self.distance *= 2;
        self.len = self.len.div_ceil(2);
    }

    /// This thread's value, if one is left: value t of those left is thread t's.
    #[inline(always)]
    pub fn mine(&self) -> Option<T> {
        // SAFETY: among those left. Whoever wrote it last was this thread, or a thread before the
        // last barrier; who writes it next does so after the next one.
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
