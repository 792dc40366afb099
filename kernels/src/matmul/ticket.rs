//! Slices of a product, added by the launch that computes them: the block that finishes a group of
//! outputs last adds all slices of it.
//!
//! Change from [`fold`](super::fold), a second launch: that costs 2 µs and more, a third of a
//! product with one row. Here each group of outputs has a ticket, which counts its finished slices.
//!
//! - Which block is last varies from run to run, but not what it adds, nor in which order: slice 0
//!   first. The bits of C depend on the slices alone.
//! - The ticket is an `acq_rel` addition by one thread. The barrier before it orders the stores of
//!   the whole block before the addition; the barrier after it orders the addition before the
//!   block's loads of what other blocks stored before theirs.
//! - The last block loads a slice's outputs together, and several slices before it adds the first:
//!   one output after the other takes 11 µs instead of 8 at 12 × 487 × 334 (H100).
//! - No block waits for another one, so blocks may run in any number and order.
//! - A ticket starts at 0, and the last block resets it. With another start, at most one block
//!   counts as the last, perhaps too early: results are then wrong or missing. But there is no
//!   race, because the slices' sums are accessed by relaxed atomics.

use core::mem::transmute_copy;

use cuda_std::atomic::intrinsics::{
    atomic_fetch_add_acqrel_u32_device, atomic_load_relaxed_32_device,
    atomic_load_relaxed_64_device, atomic_store_relaxed_32_device, atomic_store_relaxed_64_device,
};
use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;

use super::slices::{slice, sums};
use crate::number::Scalar;

/// Slices whose loads a thread has in flight.
const AHEAD: usize = 4;

/// Whether `own` elements for the slices' sums and `tickets` tickets suffice for a product in
/// slices. One slice needs none.
pub const fn fit(of: [usize; 2], slices: usize, groups: usize, own: usize, tickets: usize) -> bool {
    match sums(of[0], of[1], slices, 1) {
        Some(_) if slices == 1 => own == 0 && tickets == 0,
        Some(all) => own == all && tickets >= groups,
        None => false,
    }
}

/// C, and its slices' sums until it is complete.
pub(super) struct Slices<T> {
    pub c: *mut T,
    /// A matrix of the size of C for each slice.
    pub sums: *mut T,
    /// One for each group of outputs.
    pub tickets: *mut u32,
    /// Elements of C.
    pub outputs: usize,
    pub slices: usize,
}

impl<T: Scalar> Slices<T> {
    /// The first element of the inner extent in slice `number`, and its number of elements.
    #[inline(always)]
    pub(super) fn slice(&self, inner: usize, number: usize) -> (usize, usize) {
        match self.slices {
            // Without a division, before the first load.
            1 => (0, inner),
            slices => slice(inner, slices, number),
        }
    }

    /// Stores output `at` of slice `number`: in C, if there are no others.
    ///
    /// # Safety
    /// There is such an output, and no other thread stores it.
    #[inline(always)]
    pub(super) unsafe fn store(&self, number: usize, at: usize, sum: T) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.slices == 1 {
                self.c.wrapping_add(at).write(sum);
            } else {
                store(self.sums.wrapping_add(number * self.outputs + at), sum);
            }
        }
    }

    /// Whether the block's threads have stored the last slice of a group of outputs. `last` is a
    /// word of shared memory that passes the answer to all threads.
    ///
    /// # Safety
    /// All threads of the block call it, and there are several slices. `leads` is true of one
    /// thread for each group and `last`.
    #[inline(always)]
    pub(super) unsafe fn is_last(&self, group: usize, leads: bool, last: *mut u32) -> bool {
        // SAFETY: the caller's promise; the tickets are accessed only atomically, and the barriers
        // separate the one write of `last` from its reads and from earlier ones.
        unsafe {
            // Orders the block's stores before the ticket.
            thread::sync_threads();
            if leads {
                let ticket = self.tickets.wrapping_add(group);
                let taken = atomic_fetch_add_acqrel_u32_device(ticket, 1);
                let is_last = taken as usize == self.slices - 1;
                if is_last {
                    atomic_store_relaxed_32_device(ticket, 0);
                }
                last.write(u32::from(is_last));
            }
            // Orders the ticket before the reads of `last` and the loads of other blocks' stores.
            thread::sync_threads();
            last.read() != 0
        }
    }

    /// Adds the slices of N outputs, and stores them in C. Where there is no output, `at` is
    /// `None`.
    ///
    /// # Safety
    /// All slices of these outputs are stored, and no other thread stores them to C.
    #[inline(always)]
    pub(super) unsafe fn add<const N: usize>(&self, at: impl Fn(usize) -> Option<usize>) {
        let places: [Option<usize>; N] = core::array::from_fn(at);
        let mut own = [T::ZERO; N];
        // Where there is no output, the first one is loaded.
        let mut from = places.map(|at| self.sums.wrapping_add(at.unwrap_or(0)));
        let load = |inside: bool| {
            let mut loaded = [T::ZERO; N];
            if inside {
                // SAFETY: an output of a slice.
                loaded = from.map(|from| unsafe { load(from) });
            }
            from = from.map(|from| from.wrapping_add(self.outputs));
            loaded
        };
        in_flight::<_, AHEAD>(self.slices, load, |inside, loaded: [T; N]| {
            unrolled::<N>(|i| {
                own[i] = if inside {
                    own[i].add(loaded[i])
                } else {
                    own[i]
                }
            });
        });
        unrolled::<N>(|i| {
            if let Some(at) = places[i] {
                // SAFETY: an output of this thread.
                unsafe { self.c.wrapping_add(at).write(own[i]) };
            }
        });
    }
}

/// Calls `load` as often as `count` says, with true, and hands what it gives to `add`. N loads
/// start before the first is waited for; past the end, both are called with false.
#[inline(always)]
pub(super) fn in_flight<E: Copy, const N: usize>(
    count: usize,
    mut load: impl FnMut(bool) -> E,
    mut add: impl FnMut(bool, E),
) {
    let mut i = 0;
    while i < count {
        // `array::from_fn` is a loop, with its array in local memory, if `load` is long.
        let mut loaded = [None; N];
        unrolled::<N>(|part| loaded[part] = Some(load(i + part < count)));
        unrolled::<N>(|part| {
            if let Some(loaded) = loaded[part] {
                add(i + part < count, loaded);
            }
        });
        i += N;
    }
}

/// # Safety
/// `place` points to an element that is accessed only atomically.
#[inline(always)]
unsafe fn load<T: Scalar>(place: *const T) -> T {
    // SAFETY: the caller's promise, and the types are of one size.
    unsafe {
        match size_of::<T>() {
            4 => T::of_bits(u64::from(atomic_load_relaxed_32_device(
                place.cast::<u32>(),
            ))),
            _ => T::of_bits(atomic_load_relaxed_64_device(place.cast::<u64>())),
        }
    }
}

/// # Safety
/// As for [`load`].
#[inline(always)]
unsafe fn store<T: Scalar>(place: *mut T, value: T) {
    const { assert!(size_of::<T>() == 4 || size_of::<T>() == 8) };
    // SAFETY: the caller's promise, and the types are of one size.
    unsafe {
        match size_of::<T>() {
            4 => atomic_store_relaxed_32_device(place.cast(), transmute_copy::<T, u32>(&value)),
            _ => atomic_store_relaxed_64_device(place.cast(), value.bits()),
        }
    }
}
