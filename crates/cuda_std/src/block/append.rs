//! [`Append`]: an output that grows by the elements that the threads append.

use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU64, Ordering};

use super::tiles::{Linear, TileRange};
use super::warp::Warp;
use super::whole_array::whole_array;
use super::{Block, Scratch};
use crate::Plain;
use crate::unroll::unrolled;

/// An output that threads append to: stream compaction. The launch passes `(&mut buffer, &mut
/// count)` for this parameter, where `count` is one `u64`: the number of elements so far.
///
/// Each append takes indices from the count by one atomic addition. No other thread gets these
/// indices during the launch, so their elements belong to this thread. The order is not fixed.
/// Elements past the end of the buffer are counted but not stored: a count above the length tells
/// the host how much room was missing. A count that is not reset continues after the earlier
/// elements.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Keeps the positive elements, in any order.
/// #[kernel]
/// pub fn positive(
///     block: &mut Block<256>,
///     mut scratch: Scratch<u64>,
///     x: &[f32],
///     mut kept: Append<f32>,
/// ) {
///     for tile in block.tiles_of::<8>(x.len()) {
///         let (load, choose) = (|i| x.get(i).copied(), |x| (x > 0.0).then_some(x));
///         kept.store(block, &mut scratch, tile, load, choose);
///     }
/// }
/// // On the host: `positive::on(&device)?.grid(64).launch(&x, (&mut kept, &mut count))?`.
/// ```
pub struct Append<'a, T> {
    first: *mut T,
    len: usize,
    count: *mut u64,
    // Not `Send`, like `Out`.
    memory: PhantomData<(&'a mut [T], *mut u64)>,
}

/// A count that stays near this bound cannot wrap, and so never hands out an index twice.
const FULL: u64 = 1 << 62;
/// The most elements of one call: more bytes than a GPU has.
const MOST: usize = match 1_usize.checked_shl(42) {
    Some(most) => most,
    None => usize::MAX,
};

impl<'a, T> Append<'a, T> {
    /// The output of this thread, for as long as the borrow of `launch`.
    ///
    /// # Safety
    /// `first` points to `len` initialised elements and `count` to a number, both of which only
    /// these outputs, one per thread of the grid, access meanwhile.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn new<S>(launch: &'a S, first: *mut T, len: usize, count: *mut u64) -> Self {
        const {
            assert!(
                size_of::<T>() > 0,
                "an output of elements without bytes has nothing to write"
            )
        };
        let _ = launch;
        // SAFETY: no allocation is larger.
        unsafe { core::hint::assert_unchecked(len <= isize::MAX as usize / size_of::<T>()) };
        Self {
            first,
            len,
            count,
            memory: PhantomData,
        }
    }

    whole_array!();

    /// The first of `count` indices, at most [`MOST`], that no other call of this launch gets; the
    /// length if they start past the end.
    #[inline(always)]
    fn take(&mut self, count: usize) -> usize {
        // Not `Atomics`' instructions, which take generic addresses: here LLVM knows that the count
        // is in global memory.
        // SAFETY: the count is accessed only atomically.
        let counter = unsafe { AtomicU64::from_ptr(self.count) };
        let taken = counter.fetch_add(count as u64, Ordering::Relaxed);
        if taken >= FULL {
            // Fewer than 2²⁰ threads run at once, and all of them together add less than 2⁶²
            // between this addition and the cap. So the count passes the array's indices at most
            // once.
            counter.fetch_min(FULL, Ordering::Relaxed);
        }
        if taken < self.len as u64 {
            taken as usize
        } else {
            self.len
        }
    }

    /// Takes `count` elements for this thread: the index of the first, and the elements with their
    /// previous values. `None` if fewer are left; the count grows all the same.
    ///
    /// One atomic addition per call, and additions to one address wait for each other: take many
    /// elements at a time, or use [`store`](Self::store).
    #[inline(always)]
    pub fn reserve(&mut self, count: usize) -> Option<(usize, &mut [T])> {
        let start = self.take(if count < MOST { count } else { MOST });
        if count > self.len - start || count > MOST {
            return None;
        }
        // SAFETY: the elements are inside the array, and initialised. No other call of the launch
        // gets these indices, so no other thread accesses the elements.
        let elements = unsafe { core::slice::from_raw_parts_mut(self.first.add(start), count) };
        Some((start, elements))
    }
}

impl<T: Plain> Append<'_, T> {
    /// Appends one element, and returns its index; `None` if there is no room. One atomic addition:
    /// see [`reserve`](Self::reserve).
    #[inline(always)]
    pub fn push(&mut self, value: T) -> Option<usize> {
        let (index, element) = self.reserve(1)?;
        // SAFETY: the slice has one element.
        *unsafe { element.get_unchecked_mut(0) } = value;
        Some(index)
    }

    /// Appends what `choose` returns for the block's tile. `load` gets the index of each element of
    /// the tile, which may be past the end, and `choose` what `load` returned. All loads are in
    /// flight before the first choice, and all values are chosen before the first is stored. One
    /// atomic addition for the whole block, and two barriers.
    #[inline(always)]
    pub fn store<const X: usize, const Y: usize, const Z: usize, const ITEMS: usize, L: Copy>(
        &mut self,
        block: &mut Block<X, Y, Z>,
        scratch: &mut Scratch<'_, u64>,
        tile: TileRange<Linear<ITEMS>>,
        mut load: impl FnMut(usize) -> Option<L>,
        mut choose: impl FnMut(L) -> Option<T>,
    ) {
        let (first, step) = (tile.start() + block.thread(), block.threads());
        // Zeroed: LLVM would keep a value that only some iterations initialise in a register of its
        // own, through the kernel's loop.
        let (mut loads, mut loaded) = ([const { MaybeUninit::zeroed() }; ITEMS], 0_u32);
        unrolled::<ITEMS>(|item| {
            if let Some(found) = load(first + item * step) {
                loads[item].write(found);
                loaded |= 1 << item;
            }
        });
        // The warp's lanes that keep a value: adjacent ones store adjacent elements.
        let warp = Warp::of(block);
        let (lane, mut of_warp) = (1_u32 << warp.lane(), 0);
        let mut values = [const { MaybeUninit::zeroed() }; ITEMS];
        let (mut lanes, mut before) = ([0_u32; ITEMS], [0_u32; ITEMS]);
        unrolled::<ITEMS>(|item| {
            let mut kept = false;
            if loaded >> item & 1 != 0
                // SAFETY: written above, under the same condition.
                && let Some(chosen) = choose(unsafe { loads[item].assume_init() })
            {
                values[item].write(chosen);
                kept = true;
            }
            (lanes[item], before[item]) = (warp.ballot(kept), of_warp);
            of_warp += lanes[item].count_ones();
        });

        let start = self.take_for_warp(block, scratch, of_warp as usize);
        unrolled::<ITEMS>(|item| {
            let number = before[item] + (lanes[item] & (lane - 1)).count_ones();
            // At most the length and 2¹⁵.
            let at = start + number as usize;
            if lanes[item] & lane != 0 && at < self.len {
                // SAFETY: this lane has kept a value: it is written. Below the length. The warp's
                // indices from `start` on belong to this call only, and each value has its own.
                unsafe { self.first.add(at).write(values[item].assume_init()) };
            }
        });
    }

    /// The first of `of_warp` indices that no other warp of the launch gets, for each lane.
    /// `of_warp` is the same in all lanes that run, and at most 1024.
    #[inline(always)]
    fn take_for_warp<const X: usize, const Y: usize, const Z: usize>(
        &mut self,
        block: &mut Block<X, Y, Z>,
        scratch: &mut Scratch<'_, u64>,
        of_warp: usize,
    ) -> usize {
        let (before, of_block, all) = scratch.sums_around(block, of_warp);
        let warp = Warp::of(block);
        // If a thread has panicked, the slots may be incomplete: each warp then takes indices by
        // itself.
        let running = warp.ballot(true).trailing_zeros() as usize;
        let (takes, count) = match all {
            true => (block.thread() == 0, of_block),
            false => (warp.lane() == running, of_warp),
        };
        let taken = if takes { self.take(count) as u64 } else { 0 };
        if all {
            // Nothing between the last barrier and this one can end a thread.
            return scratch.of_first(block, taken) as usize + before;
        }
        Warp::of(block).shuffle(taken, running) as usize
    }
}

impl<T> fmt::Debug for Append<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Append").field("len", &self.len).finish()
    }
}
