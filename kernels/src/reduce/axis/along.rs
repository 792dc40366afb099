//! The operations along an axis: how elements are folded, and the results.

use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;
use cuda_std::warp::{
    WarpReductionOp, WarpShuffleMode, WarpShuffleValue, warp_reduce, warp_shuffle_idx,
    warp_vote_ballot,
};

use crate::number::Scalar;
use crate::reduce::lanes::{WARP, fold_lanes, pairwise};
use crate::reduce::{Addend, Extreme, Partial, Sum};

/// An operation along an axis.
pub trait Along: sealed::Sealed {
    /// The intermediate result of a thread or a part of a line: one or two 64-bit words.
    type Folded<T: Addend>: Plain + WarpShuffleValue;
    /// The second result: of a sum its value before rounding, of an extreme its index.
    type More<T: Addend>: Plain;
    /// Whether the second result is 0 for every line of one element.
    const IS_FIRST_OF_ONE: bool;

    /// The intermediate result of no elements.
    fn start<T: Addend>() -> Self::Folded<T>;
    /// An element that changes nothing.
    fn nothing<T: Addend>(how: u64) -> T;
    /// Folds in a group of elements; `at` gives their indices, which ascend.
    fn group<T: Addend, const N: usize>(
        folded: Self::Folded<T>,
        elements: [T; N],
        at: impl Fn(u32) -> usize,
        how: u64,
    ) -> Self::Folded<T>;
    /// Folds two.
    fn merge<T: Addend>(a: Self::Folded<T>, b: Self::Folded<T>) -> Self::Folded<T>;
    /// Folds a warp's lanes, for lines of at most [`LONGEST`](super::LONGEST) elements; each lane,
    /// or only the first one, gets the result.
    ///
    /// # Safety
    /// All 32 lanes call it.
    unsafe fn of_warp<T: Addend>(folded: Self::Folded<T>) -> Self::Folded<T> {
        // SAFETY: the caller's promise.
        unsafe { fold_lanes([folded], Self::merge::<T>) }
    }
    /// The value.
    fn value<T: Addend>(folded: Self::Folded<T>, how: u64) -> T;
    /// The second result.
    fn more<T: Addend>(folded: Self::Folded<T>) -> Self::More<T>;
}

/// `how` is the divisor: 1, or the extent for a mean.
impl Along for Sum {
    type Folded<T: Addend> = T::Partial;
    type More<T: Addend> = T::Partial;
    const IS_FIRST_OF_ONE: bool = false;

    #[inline(always)]
    fn start<T: Addend>() -> T::Partial {
        T::Partial::ZERO
    }

    #[inline(always)]
    fn nothing<T: Addend>(_: u64) -> T {
        T::ZERO
    }

    /// Neighbours first, so that the chain of additions is as short as it can be.
    #[inline(always)]
    fn group<T: Addend, const N: usize>(
        folded: T::Partial,
        elements: [T; N],
        _: impl Fn(u32) -> usize,
        _: u64,
    ) -> T::Partial {
        const { assert!(N.is_power_of_two() && N >= 2 && N <= 16) };
        let mut sums = [T::Partial::ZERO; N];
        unrolled::<N>(|i| {
            if i % 2 == 0 {
                sums[i] = elements[i + 1].add_to(elements[i].partial());
            }
        });
        unrolled::<3>(|level| {
            let apart = 2 << level;
            unrolled::<N>(|i| {
                if i % (2 * apart) == 0 && i + apart < N {
                    sums[i] = sums[i].merge(sums[i + apart]);
                }
            });
        });
        folded.merge(sums[0])
    }

    #[inline(always)]
    fn merge<T: Addend>(a: T::Partial, b: T::Partial) -> T::Partial {
        a.merge(b)
    }

    #[inline(always)]
    fn value<T: Addend>(folded: T::Partial, how: u64) -> T {
        match how {
            1 => T::of_sum(folded),
            count => T::mean(folded.settle(), count),
        }
    }

    #[inline(always)]
    fn more<T: Addend>(folded: T::Partial) -> T::Partial {
        folded
    }
}

/// An extreme and its index. If nothing is before the highest number, the index is 0: also for no
/// elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Plain)]
#[repr(C)]
pub struct Place {
    /// The element's bits, as it is compared.
    bits: u64,
    /// Its index along the axis.
    at: u64,
}

impl WarpShuffleValue for Place {
    /// Shuffles both words separately, from the same lane.
    #[inline(always)]
    unsafe fn shuffle(
        mode: WarpShuffleMode,
        mask: u32,
        value: Self,
        b: u32,
        width: u32,
    ) -> (Self, bool) {
        // SAFETY: passed on to the caller.
        let ((bits, in_range), (at, _)) = unsafe {
            (
                WarpShuffleValue::shuffle(mode, mask, value.bits, b, width),
                WarpShuffleValue::shuffle(mode, mask, value.at, b, width),
            )
        };
        (Self { bits, at }, in_range)
    }
}

/// Whether `a` is before `b`: smaller, or a NaN.
#[inline(always)]
fn is_before<T: Scalar>(a: T, b: T) -> bool {
    a < b || is_nan(a) && !is_nan(b)
}

#[inline(always)]
fn is_nan<T: Scalar>(a: T) -> bool {
    a.partial_cmp(&a).is_none()
}

/// `how` is the word by which elements are [turned](crate::reduce::Op::turned).
impl Along for Extreme {
    type Folded<T: Addend> = Place;
    type More<T: Addend> = i64;
    const IS_FIRST_OF_ONE: bool = true;

    #[inline(always)]
    fn start<T: Addend>() -> Place {
        // The highest number is before no other: if all elements are that, index 0 stays.
        let bits = T::HIGHEST.bits();
        Place { bits, at: 0 }
    }

    #[inline(always)]
    fn nothing<T: Addend>(how: u64) -> T {
        T::of_bits(T::HIGHEST.bits() ^ how)
    }

    /// Looks for the index only if the group's extreme is before all earlier elements.
    #[inline(always)]
    fn group<T: Addend, const N: usize>(
        folded: Place,
        elements: [T; N],
        at: impl Fn(u32) -> usize,
        how: u64,
    ) -> Place {
        let mut turned = elements;
        unrolled::<N>(|i| turned[i] = T::of_bits(elements[i].bits() ^ how));
        let least = pairwise(turned, T::min);
        if !is_before(least, T::of_bits(folded.bits)) {
            return folded;
        }
        let (mut first, mut element) = (0, least);
        unrolled::<N>(|back| {
            let i = N - 1 - back;
            // Both find the same elements: `least` is NaN if one of them is. `f32` takes 1.06 to
            // 1.24 times as long by equality, `f64` and `i64` 1.02 to 1.05 times by order (H200).
            let is_least = match size_of::<T>() {
                4 => !is_before(least, turned[i]),
                _ => (turned[i] == least) | is_nan(turned[i]),
            };
            if is_least {
                (first, element) = (i as u32, turned[i]);
            }
        });
        let (bits, at) = (element.bits(), at(first) as u64);
        Place { bits, at }
    }

    #[inline(always)]
    fn merge<T: Addend>(a: Place, b: Place) -> Place {
        let (x, y) = (T::of_bits(a.bits), T::of_bits(b.bits));
        let is_first = match (is_before(x, y), is_before(y, x)) {
            (false, false) => a.at < b.at,
            (is_first, _) => is_first,
        };
        if is_first { a } else { b }
    }

    /// Finds the least [rank](Scalar::rank), word by word, and the first index that has it: by
    /// three `redux` instructions, or two, instead of five rounds of shuffles and comparisons.
    #[inline(always)]
    unsafe fn of_warp<T: Addend>(folded: Place) -> Place {
        // SAFETY: the caller's promise.
        let least = |word: u32| unsafe { warp_reduce(u32::MAX, word, WarpReductionOp::Min) };
        let rank = T::of_bits(folded.bits).rank();
        let mut is_least = true;
        if size_of::<T>() > 4 {
            let upper = (rank >> 32) as u32;
            is_least = least(upper) == upper;
        }
        let lower = if is_least { rank as u32 } else { u32::MAX };
        is_least &= least(lower) == lower;
        let at = if is_least { folded.at as u32 } else { u32::MAX };
        let first = least(at);
        // Lanes without elements may tie with lane 0: their bits are then the same.
        let is_first = is_least && first == at;
        // SAFETY: the caller's promise.
        let bits = unsafe {
            let lane = warp_vote_ballot(u32::MAX, is_first).trailing_zeros();
            warp_shuffle_idx(u32::MAX, folded.bits, lane, WARP).0
        };
        let at = first.into();
        Place { bits, at }
    }

    #[inline(always)]
    fn value<T: Addend>(folded: Place, how: u64) -> T {
        T::of_bits(folded.bits ^ how)
    }

    #[inline(always)]
    fn more<T: Addend>(folded: Place) -> i64 {
        folded.at as i64
    }
}

mod sealed {
    pub trait Sealed {}

    impl Sealed for crate::reduce::Sum {}
    impl Sealed for crate::reduce::Extreme {}
}
