//! [`Scratch`]: collective operations of a block.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Range;

use super::Block;
use super::shared::Brand;
use super::warp::{LANES, Warp};
use crate::Plain;
use crate::unroll::unrolled;

/// Shared memory for reductions, scans and broadcasts of a whole block: a kernel's parameter.
///
/// For blocks of any size and shape. The order of operations depends on the block only, so results
/// are the same in every run. Each operation has one barrier.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// output\[i\] = input\[i\] over the largest element of the tile
/// #[kernel(require(input.len() == output.len()))]
/// pub fn normalize(block: &mut Block<256>, mut scratch: Scratch<f32>, input: &[f32], mut output: Out<f32>) {
///     for tile in block.tiles(input.len()) {
///         let mine = input.get(tile.start() + block.thread()).copied().unwrap_or(0.0);
///         let largest = scratch.reduce(block, mine, |a, b| if a > b { a } else { b });
///         output.store(block, tile, |_| mine / largest);
///     }
/// }
/// ```
pub struct Scratch<'s, T: Plain> {
    memory: *mut ScratchMemory<T>,
    /// The half that the next operation writes.
    half: usize,
    brand: Brand<'s>,
}

/// Two slots per warp: one half is written while the other one may still be read.
#[doc(hidden)]
pub struct ScratchMemory<T>([[MaybeUninit<T>; LANES]; 2]);

/// Calls `body` with the scratch memory, which has its own lifetime.
///
/// # Safety
/// As for [`with_shared`](super::with_shared).
#[doc(hidden)]
#[inline(always)]
pub unsafe fn with_scratch<T: Plain, R>(
    memory: *mut ScratchMemory<T>,
    body: impl for<'s> FnOnce(Scratch<'s, T>) -> R,
) -> R {
    const {
        assert!(
            size_of::<T>() > 0,
            "values without bytes have nothing to exchange"
        )
    };
    body(Scratch {
        memory,
        half: 0,
        brand: PhantomData,
    })
}

impl<T: Plain> Scratch<'_, T> {
    /// In the one thread of each warp whose `writes` is true, writes its value to the warp's slot.
    /// After the barrier every thread may read the slots until the next call.
    #[inline(always)]
    fn exchange<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &mut Block<X, Y, Z>,
        value: T,
        writes: bool,
    ) -> OfWarps<'_, T> {
        let first = self.memory.cast::<T>().wrapping_add(self.half * LANES);
        self.half = 1 - self.half;
        if writes {
            let warp = Warp::of(block).index();
            // SAFETY: a block has at most 32 warps, and one thread of each writes. The last reads
            // of this half preceded the last call's barrier, which this thread has passed.
            unsafe { first.add(warp).write(value) };
        }
        // Orders every warp's write before any thread's reads.
        block.sync_threads(());
        OfWarps {
            first,
            calls: PhantomData,
        }
    }

    /// `op` over the values of all threads, for every thread: within each warp like [`Warp::fold`],
    /// then over the warps. The first argument always comes from lower threads.
    #[inline(always)]
    pub fn reduce<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &mut Block<X, Y, Z>,
        value: T,
        op: impl Fn(T, T) -> T,
    ) -> T {
        let slots = self.folds_of_warps(block, value, &op);
        // SAFETY: each warp has written its slot.
        unsafe { slots.fold(1..warps_of(block), slots.of(0), op) }
    }

    /// Like [`reduce`](Self::reduce), for thread 0 only; the others get `None` and have nothing to
    /// do after the barrier. `store_first` of an [`Out`](super::Out) with one element per block
    /// takes the result.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// /// `sums[block]` = the sum of the block's share of the input
    /// #[kernel]
    /// pub fn sum(block: &mut Block<256>, mut scratch: Scratch<f32>, input: &[f32], mut sums: Out<f32, PerBlock>) {
    ///     let mine = block.fold_strided(input, 0.0, |sum, x| sum + x);
    ///     let sum = scratch.reduce_to_first(block, mine, |a, b| a + b);
    ///     sums.store_first(block, sum);
    /// }
    /// ```
    #[inline(always)]
    pub fn reduce_to_first<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &mut Block<X, Y, Z>,
        value: T,
        op: impl Fn(T, T) -> T,
    ) -> Option<T> {
        let slots = self.folds_of_warps(block, value, &op);
        // SAFETY: each warp has written its slot.
        (block.thread() == 0).then(|| unsafe { slots.fold(1..warps_of(block), slots.of(0), op) })
    }

    /// Folds the values of each warp, and makes the results visible to all threads.
    #[inline(always)]
    fn folds_of_warps<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &mut Block<X, Y, Z>,
        value: T,
        op: impl Fn(T, T) -> T,
    ) -> OfWarps<'_, T> {
        let warp = Warp::of(block);
        let (of_warp, first) = (warp.fold_to_first(value, op), warp.lane() == 0);
        self.exchange(block, of_warp, first)
    }

    /// `op` over the values of this thread and all lower ones. The first argument always comes from
    /// lower threads.
    #[inline(always)]
    pub fn inclusive_scan<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &mut Block<X, Y, Z>,
        value: T,
        op: impl Fn(T, T) -> T,
    ) -> T {
        let warp = Warp::of(block);
        let scanned = warp.inclusive_scan(value, &op);
        let (index, last) = (warp.index(), warp.lane() + 1 == warp.lanes());
        let slots = self.exchange(block, scanned, last);
        if index == 0 {
            return scanned;
        }
        // SAFETY: each warp has written its slot.
        let before = unsafe { slots.fold(1..index, slots.of(0), &op) };
        op(before, scanned)
    }

    /// `op` over `identity` and the values of all lower threads: for thread 0, `identity`. The
    /// first argument always comes from lower threads.
    #[inline(always)]
    pub fn exclusive_scan<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &mut Block<X, Y, Z>,
        value: T,
        identity: T,
        op: impl Fn(T, T) -> T,
    ) -> T {
        let warp = Warp::of(block);
        let scanned = warp.inclusive_scan(value, &op);
        let below = warp.shuffle_up(scanned, 1);
        let (lane, index, last) = (warp.lane(), warp.index(), warp.lane() + 1 == warp.lanes());
        let slots = self.exchange(block, scanned, last);
        // SAFETY: each warp has written its slot.
        let before = unsafe { slots.fold(0..index, identity, &op) };
        if lane == 0 { before } else { op(before, below) }
    }

    /// The value of thread `from` (of the last thread, if there is no such one), for every thread.
    /// All threads must name the same one; otherwise each gets the value of some thread.
    #[inline(always)]
    pub fn broadcast<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &mut Block<X, Y, Z>,
        value: T,
        from: usize,
    ) -> T {
        let last = block.threads() - 1;
        let from = if from < last { from } else { last };
        let warp = Warp::of(block);
        // Each warp does this, because which thread writes a slot must not depend on `from`.
        let (of_lane, first) = (warp.shuffle(value, from % LANES), warp.lane() == 0);
        let slots = self.exchange(block, of_lane, first);
        // SAFETY: each warp has written its slot.
        unsafe { slots.of(from / LANES) }
    }
}

impl Scratch<'_, u64> {
    /// Two sums of `of_warp`, over the warps below this one and over all, and whether every thread
    /// of the block is still running. If not, a slot may be unwritten, and the sums are
    /// meaningless. `of_warp` is the same in all lanes of a warp, and below 2³².
    #[inline(always)]
    pub(super) fn sums_around<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &mut Block<X, Y, Z>,
        of_warp: usize,
    ) -> (usize, usize, bool) {
        // Half a slot each: fewer loads.
        let first = (self.memory.cast::<u64>().wrapping_add(self.half * LANES)).cast::<u32>();
        self.half = 1 - self.half;
        let warp = Warp::of(block);
        let (index, lane) = (warp.index(), warp.lane());
        if lane == 0 {
            // SAFETY: as in `exchange`.
            unsafe { first.add(index).write(of_warp as u32) };
        }
        // Orders every warp's write before any thread's reads.
        let all = block.sync_threads_count(true) as usize == block.threads();
        let slots = OfWarps {
            first: first.cast_const(),
            calls: PhantomData,
        };
        let (mut before, mut sum) = (0_u32, 0_u32);
        let mut add = |warp: usize| {
            // SAFETY: the block has this warp; an unwritten slot may hold any value.
            let value = unsafe { slots.of(warp) };
            before = before.wrapping_add(if warp < index { value } else { 0 });
            sum = sum.wrapping_add(value);
        };
        let warps = warps_of(block);
        if Block::<X, Y, Z>::THREADS > 0 {
            // A constant number of loads.
            unrolled::<LANES>(|warp| {
                if warp < warps {
                    add(warp);
                }
            });
        } else {
            (0..warps).for_each(add);
        }
        (before as usize, sum as usize, all)
    }

    /// The value of thread 0, which still runs, for every thread.
    #[inline(always)]
    pub(super) fn of_first<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &mut Block<X, Y, Z>,
        value: u64,
    ) -> u64 {
        let first = block.thread() == 0;
        let slots = self.exchange(block, value, first);
        // SAFETY: thread 0 has written the slot of warp 0.
        unsafe { slots.of(0) }
    }
}

/// The warps of the block.
#[inline(always)]
fn warps_of<const X: usize, const Y: usize, const Z: usize>(block: &Block<X, Y, Z>) -> usize {
    block.threads().div_ceil(LANES)
}

/// The slots of a block's warps, between two calls of a [`Scratch`].
struct OfWarps<'c, T> {
    first: *const T,
    calls: PhantomData<&'c T>,
}

impl<T: Plain> OfWarps<'_, T> {
    /// A warp's value.
    ///
    /// # Safety
    /// The block has this warp.
    #[inline(always)]
    unsafe fn of(&self, warp: usize) -> T {
        // SAFETY: the warp has written it.
        unsafe { self.first.add(warp).read() }
    }

    /// Folds the values of several warps, in their order.
    ///
    /// # Safety
    /// The block has these warps.
    #[inline(always)]
    unsafe fn fold(&self, warps: Range<usize>, mut value: T, op: impl Fn(T, T) -> T) -> T {
        // At most 32, so all arithmetic has 32 bits.
        let (mut at, end) = (warps.start as u32, warps.end as u32);
        // All loads of a group precede its first fold. Eight are the warps of a block of 256
        // threads; with 64-bit values they would need more registers than the rest of a kernel.
        let group = if size_of::<T>() > 4 { 4 } else { 8 };
        while at < end {
            let mut loaded = [const { MaybeUninit::uninit() }; 8];
            unrolled::<8>(|i| {
                if (i as u32) < group && at + (i as u32) < end {
                    // SAFETY: the caller's promise.
                    loaded[i].write(unsafe { self.of((at + i as u32) as usize) });
                }
            });
            unrolled::<8>(|i| {
                if (i as u32) < group && at + (i as u32) < end {
                    // SAFETY: written above, under the same condition.
                    value = op(value, unsafe { loaded[i].assume_init() });
                }
            });
            at += group;
        }
        value
    }
}
