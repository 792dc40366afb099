//! Loops that must be gone before registers are given out.

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

#[cfg(test)]
mod tests {
    use super::unrolled;

    #[test]
    fn every_index_once_and_in_order() {
        let mut seen = Vec::new();
        unrolled::<0>(|i| seen.push(i));
        assert_eq!(seen, []);
        unrolled::<32>(|i| seen.push(i));
        assert_eq!(seen, Vec::from_iter(0..32));
    }
}
