//! Loops that must be gone before registers are given out, or that must wait for memory less often.

use core::ops::Range;

/// Calls `body(0)` to `body(N − 1)`, for `N` of at most 32, as that many calls and no loop.
///
/// An array stays in registers only if every index is a constant. LLVM unrolls small loops by itself, but gives up on nests of them
/// long before the bodies here end; then the array lies in local memory.
#[inline(always)]
pub(crate) fn unrolled<const N: usize>(mut body: impl FnMut(usize)) {
    const { assert!(N <= 32, "longer than the list below") };
    macro_rules! calls {
        ($($i:literal)*) => {$( if $i < N { body($i); } )*};
    }
    calls!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
}

/// Calls `body` for every index of `range` in order, in groups of `N` calls and no loop; what is left at the end, in smaller and smaller
/// groups. `N` is a power of two, at most 32.
///
/// All loads of a group can be under way together: a loop whose count the compiler does not know waits for memory in each of its rounds. LLVM
/// unrolls it by four at best, the compiler of CUDA C++ by 16. The calls are in order, so sums have the same bits.
#[inline(always)]
pub(crate) fn in_groups<const N: usize>(range: Range<usize>, mut body: impl FnMut(usize)) {
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
    // The tests of all the smaller groups would cost as much as a few calls.
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

#[cfg(test)]
mod tests {
    use super::{Range, in_groups, unrolled};

    #[test]
    fn every_index_once_and_in_order() {
        let mut seen = Vec::new();
        unrolled::<0>(|i| seen.push(i));
        assert_eq!(seen, []);
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
}
