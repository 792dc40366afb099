//! [`Scatter`]: an output through a permutation.

use core::fmt;
use core::hint::assert_unchecked;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::{Deref, DerefMut};

use super::Block;
use super::position::{Indices, thread_of_grid};
use super::tiles::{Linear, TileRange};
use super::whole_array::whole_array;
use crate::Plain;
use crate::unroll::unrolled;

/// An output whose element i is stored at place `permutation[i]`. The launch passes `(&mut buffer,
/// &permutation)` for this parameter, of the same length.
///
/// The permutation was checked once, on the device, when the host created it
/// (`blockwise::Permutation`): each entry is below the length, and no two are equal. So elements
/// are owned by their index i, as in an [`Out`](super::Out), and storing them needs no further
/// check.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// `sorted[permutation[i]]` = x\[i\]
/// #[kernel(require(x.len() == sorted.len()))]
/// pub fn rearrange(x: &[f32], mut sorted: Scatter<f32>) {
///     if let Some((i, mut element)) = sorted.own() {
///         *element = x[i];
///     }
/// }
/// // On the host: `rearrange::on(&device)?.covering(n)?.launch(&x, (&mut sorted, &order))?`.
/// ```
pub struct Scatter<'a, T> {
    first: *mut T,
    len: usize,
    places: *const u32,
    // Not `Send`, like `Out`.
    memory: PhantomData<(&'a mut [T], *const u32)>,
}

impl<'a, T> Scatter<'a, T> {
    /// The output of this thread, for as long as the borrow of `launch`.
    ///
    /// # Safety
    /// As for [`Out::new`](super::Out::new). `places` points to `len` numbers: 0 to `len − 1` in
    /// any order, unchanged for as long.
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn new<S>(launch: &'a S, first: *mut T, len: usize, places: *const u32) -> Self {
        const {
            assert!(
                size_of::<T>() > 0,
                "an output of elements without bytes has nothing to write"
            )
        };
        let _ = launch;
        // SAFETY: the caller's promise; no allocation is larger.
        unsafe {
            assert_unchecked(!first.is_null());
            assert_unchecked(len <= isize::MAX as usize / size_of::<T>());
        }
        Self {
            first,
            len,
            places,
            memory: PhantomData,
        }
    }

    whole_array!();

    /// Where element `index` is.
    ///
    /// # Safety
    /// The index is below the length.
    #[inline(always)]
    unsafe fn place(&self, index: usize) -> *mut T {
        // SAFETY: the caller's promise; the places are a permutation.
        unsafe {
            let place = self.places.add(index).read() as usize;
            assert_unchecked(place < self.len);
            self.first.add(place)
        }
    }

    /// This thread's first element, and its index before the permutation:
    /// [`Out::own`](super::Out::own).
    #[inline(always)]
    pub fn own(&mut self) -> Option<(usize, Placed<'_, T>)> {
        let (index, _) = thread_of_grid();
        if index >= self.len {
            return None;
        }
        // SAFETY: below the length. Only this thread has the index, and no other index has its
        // place.
        Some((index, Placed(unsafe { self.place(index) }, PhantomData)))
    }

    /// This thread's elements, each with its index before the permutation, in ascending order of
    /// that: [`Out::mine`](super::Out::mine).
    #[inline(always)]
    pub fn mine(&mut self) -> impl Iterator<Item = (usize, Placed<'_, T>)> {
        let this = &*self;
        Indices::mine(self.len).map(move |index| {
            // SAFETY: as in `own`, and each index comes once.
            (index, Placed(unsafe { this.place(index) }, PhantomData))
        })
    }
}

impl<T: Plain> Scatter<'_, T> {
    /// Stores this thread's elements of the tile, as far as they exist: `value` gets the index of
    /// each before the permutation. All values and places are loaded before the first is stored.
    #[inline(always)]
    pub fn store<const X: usize, const Y: usize, const Z: usize, const ITEMS: usize>(
        &mut self,
        block: &Block<X, Y, Z>,
        tile: TileRange<Linear<ITEMS>>,
        mut value: impl FnMut(usize) -> T,
    ) {
        let (first, step) = (tile.start() + block.thread(), block.threads());
        let mut values = [const { MaybeUninit::uninit() }; ITEMS];
        unrolled::<ITEMS>(|item| {
            let i = first + item * step;
            if i < self.len {
                // SAFETY: below the length.
                values[item].write((value(i), unsafe { self.place(i) }));
            }
        });
        unrolled::<ITEMS>(|item| {
            if first + item * step < self.len {
                // SAFETY: written above, under the same condition. As in `Out::store`, only this
                // thread has the index, and no other index has its place.
                unsafe {
                    let (value, place) = values[item].assume_init();
                    place.write(value);
                }
            }
        });
    }
}

/// An element of a [`Scatter`], exclusively borrowed.
// Not `&mut T`: LLVM would test whether an `Option` of one is `None` by its address, which is not
// known before the permutation's entry is loaded.
pub struct Placed<'o, T>(*mut T, PhantomData<&'o mut T>);

impl<T> Deref for Placed<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: an element that only this thread has, borrowed once.
        unsafe { &*self.0 }
    }
}

impl<T> DerefMut for Placed<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`.
        unsafe { &mut *self.0 }
    }
}

impl<T: fmt::Debug> fmt::Debug for Placed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T> fmt::Debug for Scatter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scatter").field("len", &self.len).finish()
    }
}
