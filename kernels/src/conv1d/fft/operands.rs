//! What the kernels of a convolution by transforms in shared memory work on.

use core::ptr;

use super::complex::{Pair, Transformed};
use crate::here::zero_here;

/// The operands of a block's convolution.
#[derive(Clone, Copy)]
pub(super) struct Operands<'a, T: Transformed> {
    pub(super) signal: &'a [T],
    pub(super) taps: &'a [T],
    /// The taps' spectrum, as written by [`transform_taps`](super::window::transform_taps).
    pub(super) spectrum: *const Pair<T>,
    pub(super) output: *mut [T],
    pub(super) offset: usize,
    pub(super) shift: usize,
}

impl<T: Transformed> Operands<'_, T> {
    /// The same for a rare way, of which nothing is computed before it: see [`zero_here`].
    #[inline(always)]
    pub(super) fn here(self) -> Self {
        let zero = zero_here();
        let again = |of: &[T]| {
            let start = of.as_ptr().wrapping_add(zero);
            ptr::slice_from_raw_parts(start, of.len() + zero)
        };
        // SAFETY: they are the same slices.
        let [signal, taps] = unsafe { [&*again(self.signal), &*again(self.taps)] };
        let output = self.output.cast::<T>().wrapping_add(zero);
        Self {
            signal,
            taps,
            spectrum: self.spectrum.wrapping_add(zero),
            output: ptr::slice_from_raw_parts_mut(output, self.output.len() + zero),
            offset: self.offset + zero,
            shift: self.shift + zero,
        }
    }
}
