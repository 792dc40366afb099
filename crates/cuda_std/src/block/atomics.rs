//! [`Atomics`]: elements that all threads change.

use core::fmt;
use core::marker::PhantomData;

use super::number::{Counter, Number};
use super::whole_array::whole_array;

/// An array in global memory that every thread may access at any index, by atomic operations only.
/// The launch passes `&mut buffer` for this parameter.
///
/// Operations are relaxed: they order nothing else. Their scope is the device. An index past the
/// end changes nothing and returns `None`.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Counts the bytes of a text by value.
/// #[kernel(require(counts.len() == 256))]
/// pub fn byte_counts(block: &mut Block, text: &[u8], counts: Atomics<u32>) {
///     for tile in block.tiles(text.len()) {
///         if let Some(&byte) = text.get(tile.start() + block.thread()) {
///             counts.add(usize::from(byte), 1);
///         }
///     }
/// }
/// ```
pub struct Atomics<'a, T: Number> {
    first: *mut T,
    len: usize,
    memory: PhantomData<&'a mut [T]>,
}

impl<'a, T: Number> Atomics<'a, T> {
    /// The array, for as long as the borrow of `launch`.
    ///
    /// # Safety
    /// `first` points to `len` initialised elements that only this launch's `Atomics` of them
    /// access meanwhile.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn new<S>(launch: &'a S, first: *mut T, len: usize) -> Self {
        let _ = launch;
        Self {
            first,
            len,
            memory: PhantomData,
        }
    }

    whole_array!();

    #[inline(always)]
    fn element(&self, index: usize) -> Option<*mut T> {
        // SAFETY: below the length.
        (index < self.len).then(|| unsafe { self.first.add(index) })
    }

    /// The current value.
    #[inline(always)]
    pub fn load(&self, index: usize) -> Option<T> {
        // SAFETY: an element, which is accessed only atomically.
        self.element(index)
            .map(|element| unsafe { T::load(element) })
    }

    /// Adds `value`, wrapping, and returns the old value. Float additions round, and the order of
    /// threads is not fixed: float sums differ between runs.
    #[doc(alias = "atomicAdd")]
    #[inline(always)]
    pub fn add(&self, index: usize, value: T) -> Option<T> {
        // SAFETY: as in `load`.
        self.element(index)
            .map(|element| unsafe { T::add(element, value) })
    }

    /// Replaces the value by the smaller of it and `value`, and returns the old value.
    #[doc(alias = "atomicMin")]
    #[inline(always)]
    pub fn min(&self, index: usize, value: T) -> Option<T>
    where
        T: Counter,
    {
        // SAFETY: as in `load`.
        self.element(index)
            .map(|element| unsafe { T::min(element, value) })
    }

    /// Replaces the value by the larger of it and `value`, and returns the old value.
    #[doc(alias = "atomicMax")]
    #[inline(always)]
    pub fn max(&self, index: usize, value: T) -> Option<T>
    where
        T: Counter,
    {
        // SAFETY: as in `load`.
        self.element(index)
            .map(|element| unsafe { T::max(element, value) })
    }
}

impl<T: Number> fmt::Debug for Atomics<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Atomics").field("len", &self.len).finish()
    }
}
