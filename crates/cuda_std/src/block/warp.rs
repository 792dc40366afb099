//! [`Warp`]: the token that states that all lanes of a thread's warp are here.

use core::hint::assert_unchecked;
use core::marker::PhantomData;

use super::Block;
use super::words::by_words;
use crate::Plain;
use crate::uniform::assume_warp_uniform;
use crate::warp::{self, WarpMatchValue, WarpShuffleMode, WarpShuffleValue};

/// Lanes of a whole warp.
pub(super) const LANES: usize = 32;

/// States that all lanes of this thread's warp are here: [`Block::warp`]. The build checks that
/// they are.
///
/// The last warp of a block whose threads are not a multiple of 32 has fewer lanes. Lane and warp
/// follow from the thread's number in the block.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// sums\[block\] = the sum of the block's warps' largest elements
/// #[kernel]
/// pub fn sum_of_maxima(block: &mut Block<256>, mut scratch: Scratch<u32>, input: &[u32], mut sums: Out<u32, PerBlock>) {
///     let mine = block.fold_strided(input, 0, |max, x| if x > max { x } else { max });
///     let warp = block.warp();
///     let largest = warp.fold(mine, |a, b| if a > b { a } else { b });
///     let counted = if warp.lane() == 0 { largest } else { 0 };
///     let sum = scratch.reduce(block, counted, u32::wrapping_add);
///     sums.store(block, sum);
/// }
/// ```
#[derive(Debug)]
pub struct Warp<'b> {
    lane: u32,
    index: u32,
    lanes: u32,
    /// Whether the compiler knows that all warps of the block have 32 lanes.
    whole: bool,
    block: PhantomData<(&'b mut (), *mut ())>,
}

impl<const X: usize, const Y: usize, const Z: usize> Block<X, Y, Z> {
    /// This thread's warp. While it is in use, block barriers are not possible.
    #[inline(always)]
    pub fn warp(&mut self) -> Warp<'_> {
        Warp::of(self)
    }
}

impl<'b> Warp<'b> {
    #[inline(always)]
    pub(super) fn of<const X: usize, const Y: usize, const Z: usize>(
        block: &'b Block<X, Y, Z>,
    ) -> Self {
        let (thread, threads) = (block.thread() as u32, block.threads() as u32);
        // A comparison at most: the compiler often knows the result, from the block's type or from
        // a rule of the launch.
        let whole = block.threads().is_multiple_of(LANES);
        // SAFETY: a warp is 32 consecutive threads, starting at a multiple of 32.
        let index = unsafe { assume_warp_uniform(thread / LANES as u32) };
        let left = threads - index * LANES as u32;
        Self {
            lane: thread % LANES as u32,
            index,
            lanes: if whole || left >= LANES as u32 {
                LANES as u32
            } else {
                left
            },
            whole,
            block: PhantomData,
        }
    }

    /// This thread's lane: below [`lanes`](Self::lanes).
    #[inline(always)]
    pub fn lane(&self) -> usize {
        // SAFETY: the thread's number is below the block's threads.
        unsafe { assert_unchecked(self.lane < self.lanes) };
        self.lane as usize
    }

    /// The warp's number in the block.
    #[inline(always)]
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// The lanes of this warp: 32, or fewer in the last warp of a block.
    #[inline(always)]
    pub fn lanes(&self) -> usize {
        // SAFETY: a warp has at least one thread and at most 32 lanes.
        unsafe {
            assert_unchecked(self.lanes >= 1);
            assert_unchecked(self.lanes <= 32);
        }
        self.lanes as usize
    }

    /// All lanes, as bits.
    #[inline(always)]
    fn mask(&self) -> u32 {
        u32::MAX >> (LANES - self.lanes())
    }

    /// The words of `value` from lane `source`, or this lane's own if the warp lacks that lane.
    #[inline(always)]
    fn from<T: Plain>(&self, value: T, mode: WarpShuffleMode, operand: u32, source: u32) -> T {
        let mask = self.mask();
        if self.whole {
            // SAFETY: all 32 lanes are here, as the token states. The instruction gives a lane
            // without a source its own value.
            return by_words(value, |word| unsafe {
                WarpShuffleValue::shuffle(mode, mask, word, operand, LANES as u32).0
            });
        }
        let source = if source < self.lanes {
            source
        } else {
            self.lane
        };
        // SAFETY: all lanes of the mask are here, as the token states, and the source is one of
        // them.
        by_words(value, |word| unsafe {
            WarpShuffleValue::shuffle(WarpShuffleMode::Idx, mask, word, source, LANES as u32).0
        })
    }

    /// The value of lane `lane`; the lane's own if there is no such lane. Each lane may name a
    /// different one.
    #[inline(always)]
    pub fn shuffle<T: Plain>(&self, value: T, lane: usize) -> T {
        let source = if lane < self.lanes() {
            lane as u32
        } else {
            self.lane
        };
        self.from(value, WarpShuffleMode::Idx, source, source)
    }

    /// The value of the lane `delta` above this one; the lane's own if there is no such lane.
    #[inline(always)]
    pub fn shuffle_down<T: Plain>(&self, value: T, delta: usize) -> T {
        let delta = few(delta);
        self.from(value, WarpShuffleMode::Down, delta, self.lane + delta)
    }

    /// The value of the lane `delta` below this one; the lane's own if there is no such lane.
    #[inline(always)]
    pub fn shuffle_up<T: Plain>(&self, value: T, delta: usize) -> T {
        let delta = few(delta);
        self.from(
            value,
            WarpShuffleMode::Up,
            delta,
            self.lane.wrapping_sub(delta),
        )
    }

    /// The value of the lane whose number is this one's xor `bits`; the lane's own if there is no
    /// such lane.
    #[inline(always)]
    pub fn shuffle_xor<T: Plain>(&self, value: T, bits: usize) -> T {
        let source = self.lane ^ few(bits);
        let source = if source < self.lanes {
            source
        } else {
            self.lane
        };
        self.from(value, WarpShuffleMode::Xor, self.lane ^ source, source)
    }

    /// Whether `predicate` is true in all lanes.
    #[inline(always)]
    pub fn all(&self, predicate: bool) -> bool {
        // SAFETY: all lanes of the mask are here, as the token states, and each gets the same
        // result.
        unsafe { assume_warp_uniform(u32::from(warp::warp_vote_all(self.mask(), predicate))) != 0 }
    }

    /// Whether `predicate` is true in any lane.
    #[inline(always)]
    pub fn any(&self, predicate: bool) -> bool {
        // SAFETY: as in `all`.
        unsafe { assume_warp_uniform(u32::from(warp::warp_vote_any(self.mask(), predicate))) != 0 }
    }

    /// The lanes in which `predicate` is true, as bits.
    #[inline(always)]
    pub fn ballot(&self, predicate: bool) -> u32 {
        // SAFETY: as in `all`.
        unsafe { assume_warp_uniform(warp::warp_vote_ballot(self.mask(), predicate)) }
    }

    /// The lanes that hold the same bits as this one, as bits.
    #[inline(always)]
    pub fn match_any<T: WarpMatchValue>(&self, value: T) -> u32 {
        // SAFETY: as in `all`.
        unsafe { warp::warp_match_any(self.mask(), value) }
    }

    /// `op` over the values of all lanes, for every lane. The first argument always comes from
    /// lower lanes; the association is the same in every run.
    #[inline(always)]
    pub fn fold<T: Plain>(&self, value: T, op: impl Fn(T, T) -> T) -> T {
        let (of_first, mask) = (self.fold_to_first(value, op), self.mask());
        // SAFETY: all lanes of the mask are here, as the token states, lane 0 among them, and each
        // gets its word.
        by_words(of_first, |word| unsafe {
            let (word, _) = warp::warp_shuffle_idx(mask, word, 0, LANES as u32);
            assume_warp_uniform(word)
        })
    }

    /// Like [`fold`](Self::fold), for lane 0; the other lanes get unspecified values.
    #[inline(always)]
    pub(super) fn fold_to_first<T: Plain>(&self, value: T, op: impl Fn(T, T) -> T) -> T {
        // The same in all lanes. With a constant mask a shuffle is one instruction; any other mask
        // is first compared across the lanes.
        if self.lanes == LANES as u32 {
            let whole = Warp {
                whole: true,
                ..*self
            };
            return whole.fold_down(value, op);
        }
        self.fold_down(value, op)
    }

    #[inline(always)]
    fn fold_down<T: Plain>(&self, mut value: T, op: impl Fn(T, T) -> T) -> T {
        macro_rules! rounds {
            ($($delta:literal)*) => {$(
                let above = self.shuffle_down(value, $delta);
                // In a whole warp, lane 0 folds without tests: the wrong values of the last lanes
                // never reach it.
                if self.whole || self.lane + $delta < self.lanes {
                    value = op(value, above);
                }
            )*};
        }
        rounds!(1 2 4 8 16);
        value
    }

    /// `op` over the values of this lane and all lower ones. The first argument always comes from
    /// lower lanes.
    #[inline(always)]
    pub fn inclusive_scan<T: Plain>(&self, mut value: T, op: impl Fn(T, T) -> T) -> T {
        macro_rules! rounds {
            ($($delta:literal)*) => {$(
                let below = self.shuffle_up(value, $delta);
                if self.lane >= $delta {
                    value = op(below, value);
                }
            )*};
        }
        rounds!(1 2 4 8 16);
        value
    }

    /// `op` over segments of adjacent lanes: a segment starts at lane 0 and wherever `begins` is
    /// true, and ends before the next one. The first lane of a segment gets its result, the others
    /// `None`.
    #[inline(always)]
    pub fn fold_segments<T: Plain>(
        &self,
        mut value: T,
        begins: bool,
        op: impl Fn(T, T) -> T,
    ) -> Option<T> {
        let begins = begins || self.lane == 0;
        let heads = self.ballot(begins);
        // The first lane of the next segment, or the end of the warp.
        let next = (heads & !1 & (u32::MAX << self.lane) & !(1 << self.lane)).trailing_zeros();
        let end = if next < self.lanes { next } else { self.lanes };
        macro_rules! rounds {
            ($($delta:literal)*) => {$(
                let above = self.shuffle_down(value, $delta);
                if self.lane + $delta < end {
                    value = op(value, above);
                }
            )*};
        }
        rounds!(1 2 4 8 16);
        begins.then_some(value)
    }
}

/// A distance between lanes, clamped: a larger one is out of the warp in any case.
#[inline(always)]
fn few(distance: usize) -> u32 {
    if distance < LANES {
        distance as u32
    } else {
        LANES as u32
    }
}
