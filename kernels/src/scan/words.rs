//! Values that blocks publish to each other, and the tickets for their tiles.
//!
//! The first word of the state counts tickets in its low half and launches in its high half; the
//! others hold published values. A word has 32 bits of a value, all or half of it, and the number
//! of the launch that wrote it: its tag. One relaxed 64-bit access moves both, so that a reader
//! sees either an old tag or the value, and nothing else needs an order.
//!
//! - Nothing is cleared between launches. The thread that takes a launch's last ticket resets the
//!   count and increments the launch number: a launch may be repeated in a graph.
//! - Launch numbers repeat after 2³² launches. No word that old may remain, so a launch writes
//!   every word that it has a place for, and one of the others in turn.
//! - A state starts as zeros: no launch has the tag 0 before 2³² others.
//! - With any other contents results are wrong, or tiles wait forever. But no tile is taken twice,
//!   so there is no race: the count grows by one per ticket, and is reset only at a launch's last
//!   number. A count that starts above the tiles' numbers reaches that at most once before it wraps
//!   to them.

use core::hint::assert_unchecked;

use cuda_std::atomic::intrinsics::{
    atomic_fetch_add_relaxed_u64_device, atomic_load_relaxed_64_device,
    atomic_store_relaxed_64_device,
};

use cuda_std::opaque::{halves, whole};

use crate::number::Scalar;

/// Published values of one launch.
#[derive(Clone, Copy)]
pub(super) struct Words {
    /// The state's second word.
    first: *mut u64,
    tag: u32,
}

/// Words of a value.
pub(super) const fn words<T>() -> usize {
    size_of::<T>().div_ceil(4)
}

/// The halves of a word, by one move, or by shifts for 32-bit values: 2²⁹ i32 took 1.05 times as long
/// with moves, 2²⁰ i64 1.04 times with shifts (H200).
#[inline(always)]
fn divided<T: Scalar>(word: u64) -> (u32, u32) {
    match words::<T>() {
        2 => halves(word),
        _ => (word as u32, (word >> 32) as u32),
    }
}

/// The word with these halves, in the same way.
#[inline(always)]
fn joined<T: Scalar>(low: u32, high: u32) -> u64 {
    match words::<T>() {
        2 => whole(low, high),
        _ => u64::from(low) | u64::from(high) << 32,
    }
}

impl Words {
    pub(super) fn new(state: *mut u64, tag: u32) -> Self {
        Self {
            first: state.wrapping_add(1),
            tag,
        }
    }

    #[inline(always)]
    fn word<T>(self, index: usize) -> *mut u64 {
        self.first.wrapping_add(index * words::<T>())
    }

    /// Publishes value `index`.
    ///
    /// # Safety
    /// The state has a place for it, which is accessed only atomically.
    #[inline(always)]
    pub(super) unsafe fn put<T: Scalar>(self, index: usize, value: T) {
        let (word, (low, high)) = (self.word::<T>(index), divided::<T>(value.bits()));
        // SAFETY: the caller's promise.
        unsafe {
            atomic_store_relaxed_64_device(word, joined::<T>(low, self.tag));
            if words::<T>() == 2 {
                atomic_store_relaxed_64_device(word.wrapping_add(1), joined::<T>(high, self.tag));
            }
        }
    }

    /// Loads value `index`, published or not. It may be loaded long before it is needed:
    /// [`value`](Self::value) says whether it was published.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    #[inline(always)]
    pub(super) unsafe fn load<T: Scalar>(self, index: usize) -> Loaded {
        let word = self.word::<T>(index);
        // SAFETY: the caller's promise.
        unsafe {
            let low = atomic_load_relaxed_64_device(word);
            let high = match words::<T>() {
                2 => atomic_load_relaxed_64_device(word.wrapping_add(1)),
                _ => low,
            };
            Loaded([low, high])
        }
    }

    /// A `Loaded` that stands for this value, as if it had been published.
    #[inline(always)]
    pub(super) fn known<T: Scalar>(self, value: T) -> Loaded {
        let (low, high) = divided::<T>(value.bits());
        Loaded([low, high].map(|half| joined::<T>(half, self.tag)))
    }

    /// A loaded value, and whether it had been published.
    #[inline(always)]
    pub(super) fn value<T: Scalar>(self, Loaded([low, high]): Loaded) -> (T, bool) {
        let ((low, low_tag), (high, high_tag)) = (divided::<T>(low), divided::<T>(high));
        let bits = match words::<T>() {
            2 => joined::<T>(low, high),
            _ => u64::from(low),
        };
        (
            T::of_bits(bits),
            low_tag == self.tag && high_tag == self.tag,
        )
    }
}

/// The words that were loaded for a value.
#[derive(Clone, Copy)]
pub(super) struct Loaded([u64; 2]);

/// The tickets of a launch.
#[derive(Clone, Copy)]
pub(super) struct Tickets {
    pub(super) state: *mut u64,
    /// Words of the state, which 32 bits count; and of these, beside the first, those that this
    /// launch writes.
    pub(super) len: usize,
    pub(super) written: usize,
    /// The tickets that are taken in the launch.
    pub(super) total: u32,
}

impl Tickets {
    /// Takes the next ticket. [`taken`](Self::taken) decodes the result when it is needed.
    ///
    /// # Safety
    /// Only the tickets of this launch and its published words use the state. Its blocks take
    /// `total` tickets in all.
    #[inline(always)]
    pub(super) unsafe fn take(self) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { atomic_fetch_add_relaxed_u64_device(self.state, 1) }
    }

    /// A taken ticket, and the tag of the launch.
    ///
    /// # Safety
    /// As for [`take`](Self::take), once for each ticket.
    #[inline(always)]
    pub(super) unsafe fn taken(self, taken: u64) -> (u32, u32) {
        let (ticket, tag) = (taken as u32, ((taken >> 32) as u32).wrapping_add(1));
        if ticket == self.total - 1 {
            let rest = (1 << 32) - u64::from(self.total);
            let others = self.len as u32 - 1;
            // SAFETY: a state with tickets has words for values.
            unsafe { assert_unchecked(others > 0) };
            let spare = 1 + (tag % others) as usize;
            // SAFETY: the caller's promise; the spare word is inside, and no other thread's.
            unsafe {
                atomic_fetch_add_relaxed_u64_device(self.state, rest);
                if spare > self.written {
                    let word = self.state.wrapping_add(spare);
                    atomic_store_relaxed_64_device(word, u64::from(tag) << 32);
                }
            }
        }
        (ticket, tag)
    }
}
