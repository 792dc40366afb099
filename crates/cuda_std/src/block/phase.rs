//! How a barrier changes the states of shared arrays.

/// The state of a shared array, or several states, that a barrier advances:
/// [`Block::sync_threads`](super::Block::sync_threads).
///
/// # Safety
/// Every thread may use `Next` once all threads of the block have given up `Self` and passed a
/// barrier.
#[diagnostic::on_unimplemented(
    message = "a barrier cannot move `{Self}` to a next state",
    label = "not the state of a shared array",
    note = "pass what was written or published (`Written`, `Published`, `Zeroed`, `Counting`), a tuple of up to six of them, or `()`"
)]
pub unsafe trait Phase {
    /// The state after the barrier.
    type Next;

    /// Advances the state.
    ///
    /// # Safety
    /// Every thread of the block has arrived at one barrier with this state of the same arrays, and
    /// passed it.
    #[doc(hidden)]
    unsafe fn next(self) -> Self::Next;
}

// SAFETY: there is nothing to use.
unsafe impl Phase for () {
    type Next = ();

    #[inline(always)]
    unsafe fn next(self) {}
}

macro_rules! tuples {
    ($(($($state:ident)*))*) => {$(
        // SAFETY: each state separately.
        unsafe impl<$($state: Phase),*> Phase for ($($state,)*) {
            type Next = ($($state::Next,)*);

            #[inline(always)]
            #[allow(non_snake_case, reason = "a name for each type")]
            unsafe fn next(self) -> Self::Next {
                let ($($state,)*) = self;
                // SAFETY: passed on to the caller.
                unsafe { ($($state.next(),)*) }
            }
        }
    )*};
}
tuples! {
    (A)
    (A B)
    (A B C)
    (A B C D)
    (A B C D E)
    (A B C D E F)
}
