//! Folds of a thread's share of the grid's elements.

use super::position::runs_of_grid;
use super::{Block, Elements};
use crate::unroll::unrolled;

impl<const X: usize, const Y: usize, const Z: usize> Block<X, Y, Z> {
    /// Folds this thread's share of `source`, a slice or several in parallel ([`Elements`]): the
    /// elements of its [`tiles`](Self::tiles), in ascending order.
    ///
    /// Several loads are in flight per thread: a loop that folds an element before it loads the
    /// next one waits for memory in each iteration.
    #[inline(always)]
    pub fn fold_strided<E: Elements, A: Copy>(
        &self,
        source: E,
        start: A,
        fold: impl Fn(A, E::Item) -> A,
    ) -> A {
        match size_of::<E::Item>() {
            0..=4 => self.fold_ahead::<4, E, A>(source, start, fold),
            // For two operands or 64-bit elements, more in flight would need more than 32
            // registers.
            _ => self.fold_ahead::<2, E, A>(source, start, fold),
        }
    }

    #[inline(always)]
    fn fold_ahead<const AHEAD: usize, E: Elements, A: Copy>(
        &self,
        source: E,
        start: A,
        fold: impl Fn(A, E::Item) -> A,
    ) -> A {
        let (first, stride) = runs_of_grid(self.threads());
        let (len, mut i) = (source.len(), first + self.thread());
        let mut value = start;
        while i + (AHEAD - 1) * stride < len {
            // SAFETY: the largest of these indices is below the length.
            let items: [E::Item; AHEAD] =
                core::array::from_fn(|ahead| unsafe { source.get(i + ahead * stride) });
            value = items.into_iter().fold(value, &fold);
            i += AHEAD * stride;
        }
        unrolled::<AHEAD>(|left| {
            if left + 1 < AHEAD && i < len {
                // SAFETY: just compared.
                value = fold(value, unsafe { source.get(i) });
                i += stride;
            }
        });
        value
    }
}
