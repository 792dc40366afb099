//! Loops that must be unrolled before register allocation, or that need more loads in flight.

use core::ops::{Bound, Range, RangeBounds};

use crate::block::Elements;
use crate::opaque::opaque;

/// One call of `$body` for each number below `$n`, a constant of at most 32.
macro_rules! calls {
    ($n:expr, $body:ident) => {
        calls!(@each $n, $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
    };
    (@each $n:expr, $body:ident, $($i:literal)*) => {$( if $i < $n { $body($i); } )*};
}
pub(crate) use calls;

/// Calls `body(0)` to `body(N − 1)`, for `N` of at most 32, as separate calls without a loop.
///
/// An array stays in registers only if every index is a constant. LLVM unrolls small loops itself,
/// but gives up on nested ones long before the bodies here end; then the array is placed in local
/// memory.
#[inline(always)]
pub fn unrolled<const N: usize>(mut body: impl FnMut(usize)) {
    const { assert!(N <= 32, "longer than the list below") };
    calls!(N, body);
}

/// Calls `body(i)` for every i with i · `step` below `LEN`: as separate calls without a loop if
/// `STEP` is `step` (and not 0) and there are at most 32.
#[inline(always)]
pub(crate) fn counted<const LEN: usize, const STEP: usize>(
    step: usize,
    mut body: impl FnMut(usize),
) {
    if Calls::<LEN, STEP>::FEW {
        calls!(Calls::<LEN, STEP>::COUNT, body);
    } else {
        let mut i = 0;
        while i * step < LEN {
            body(i);
            i += 1;
        }
    }
}

/// Number of calls that [`counted`] makes, if `STEP` is not 0.
pub(crate) struct Calls<const LEN: usize, const STEP: usize>;

impl<const LEN: usize, const STEP: usize> Calls<LEN, STEP> {
    pub(crate) const COUNT: usize = if STEP == 0 {
        usize::MAX
    } else {
        LEN.div_ceil(STEP)
    };
    const FEW: bool = Self::COUNT <= 32;
}

/// Calls `body` for every index of `range` in order, in unrolled groups of `N` calls, then in ever
/// smaller groups for the rest. `N` is a power of two, at most 32.
///
/// All loads of a group can be in flight together. A loop with a trip count unknown to the compiler
/// would wait for memory in each iteration: LLVM unrolls it by four at best, nvcc by 16. The calls
/// stay in order, so sums have the same bits.
#[inline(always)]
pub fn in_groups<const N: usize>(range: Range<usize>, mut body: impl FnMut(usize)) {
    const { assert!(N.is_power_of_two() && N <= 32, "no group of the list below") };
    let Range { start: mut at, end } = range;
    if at >= end {
        return;
    }
    while end - at >= N {
        unrolled::<N>(|i| body(at + i));
        at += N;
    }
    let left = end - at;
    // The tests of all smaller groups would cost as much as a few calls.
    if left == 0 {
        return;
    }
    macro_rules! groups {
        ($($n:literal)*) => {$(
            if $n < N && left & $n != 0 {
                let first = end - left % (2 * $n);
                unrolled::<$n>(|i| body(first + i));
            }
        )*};
    }
    groups!(16 8 4 2 1);
}

/// Folds the existing elements of `range` in order by [`in_groups`]: loads of a group are in flight
/// together, without a bounds check per element.
///
/// ```
/// use cuda_std::block::Reversed;
/// use cuda_std::unroll::fold_groups;
///
/// let (taps, window) = ([1, 10, 100], [2, 3, 4]);
/// let pairs = (&taps[..], Reversed(&window[..]));
/// let sum = |sum, (tap, sample)| sum + tap * sample;
/// assert_eq!(fold_groups::<4, _, _>(pairs, .., 0, sum), 4 + 30 + 200);
/// assert_eq!(fold_groups::<4, _, _>(pairs, 1.., 0, sum), 30 + 200);
/// ```
#[inline(always)]
pub fn fold_groups<const N: usize, E: Elements, A: Copy>(
    elements: E,
    range: impl RangeBounds<usize>,
    start: A,
    mut fold: impl FnMut(A, E::Item) -> A,
) -> A {
    let from = match range.start_bound() {
        Bound::Included(&first) => first,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let to = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => usize::MAX,
    };
    let len = elements.len();
    let mut value = start;
    in_groups::<N>(opaque(from)..if to < len { to } else { len }, |i| {
        // SAFETY: below the length.
        value = fold(value, unsafe { elements.get(i) });
    });
    value
}

#[cfg(test)]
mod tests {
    use super::{Range, counted, in_groups, unrolled};

    #[test]
    fn every_index_once_and_in_order() {
        let mut seen = Vec::new();
        unrolled::<0>(|i| seen.push(i));
        assert!(seen.is_empty());
        unrolled::<32>(|i| seen.push(i));
        assert_eq!(seen, Vec::from_iter(0..32));
    }

    #[test]
    fn every_index_of_a_range_once_and_in_order() {
        fn check<const N: usize>() {
            for len in 0..=2 * N + 1 {
                let mut seen = Vec::new();
                in_groups::<N>(5..5 + len, |i| seen.push(i));
                assert_eq!(seen, Vec::from_iter(5..5 + len), "{N}");
            }
            let mut none = true;
            in_groups::<N>(Range { start: 9, end: 3 }, |_| none = false);
            assert!(none);
        }
        check::<1>();
        check::<8>();
        check::<32>();
    }

    #[test]
    fn every_multiple_below_the_length_whether_counted_or_not() {
        fn check<const LEN: usize, const STEP: usize>(step: usize) {
            let mut seen = Vec::new();
            counted::<LEN, STEP>(step, |i| seen.push(i * step));
            assert_eq!(seen, Vec::from_iter((0..LEN).step_by(step)));
        }
        check::<0, 3>(3);
        check::<9, 3>(3);
        check::<10, 3>(3);
        check::<32, 1>(1);
        check::<33, 1>(1);
        check::<10, 0>(3);
        check::<3, 256>(256);
    }
}
