//! Values that a thread reaches through what describes other values: sizes behind trait objects,
//! places in the source, discriminants, hashes, counters of iterators, and results that a library
//! returns through memory.

extern crate alloc;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::{Cell, LazyCell, RefCell};
use core::hash::{Hash, Hasher};
use core::mem::discriminant;
use core::panic::Location;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use cuda_std::prelude::*;

/// The size of what a trait object is.
#[kernel]
pub fn by_a_size_behind_an_object(block: &mut Block<64>, n: usize) {
    let (small, large) = ([n as u8; 3], [n as u8; 7]);
    let object: &dyn Send = if block.thread() > n { &small } else { &large };
    let size = size_of_val(object);
    // parts
    if size < 5 {
        block.sync_threads(()); // waits
    }
}

/// The length of a slice behind an array's reference, which is chosen.
#[kernel]
pub fn by_a_chosen_length(block: &mut Block<64>, n: usize) {
    let (short, long) = ([n; 2], [n; 6]);
    let parts: [&[usize]; 2] = [&short, &long];
    let length = parts[block.thread() & 1].len();
    // parts
    if length > n {
        block.sync_threads(()); // waits
    }
}

#[track_caller]
#[inline(never)]
fn line() -> u32 {
    Location::caller().line()
}

/// The line of a call.
#[kernel]
pub fn by_the_line_of_a_call(block: &mut Block<64>, n: usize) {
    let called = if block.thread() > n {
        line()
    } else {
        line() + 1
    };
    // parts
    if called % 2 == 0 {
        block.sync_threads(()); // waits
    }
}

/// Which variant a value is, of which no payload is read.
#[kernel]
pub fn by_a_discriminant(block: &mut Block<64>, n: usize) {
    let values = [Some(&n), None, Some(&n)];
    let one = values[block.thread() % 3];
    let is_same = discriminant(&one) == discriminant(&values[0]);
    // parts
    if is_same {
        block.sync_threads(()); // waits
    }
}

struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// A hash over a struct with a thread's field.
#[kernel]
pub fn by_a_hash(block: &mut Block<64>, n: usize) {
    #[derive(Hash)]
    struct Named(&'static str, (u8, usize));
    let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
    Named("one", (n as u8, block.thread() / 2)).hash(&mut hasher);
    let hash = hasher.finish();
    // parts
    if hash & 1 == 0 {
        block.sync_threads(()); // waits
    }
}

/// A value that is computed when it is first asked for.
#[kernel]
pub fn by_a_lazy_value(block: &mut Block<64>, n: usize) {
    let count = Cell::new(n);
    let lazy = LazyCell::new(|| {
        count.set(count.get() + 1);
        n
    });
    if block.thread() > n {
        let _ = *lazy;
    }
    let counted = count.get();
    // parts
    if counted == n {
        block.sync_threads(()); // waits
    }
}

/// A pointer in an atomic of the thread's own, compared and never read through.
#[kernel]
pub fn by_a_pointer_in_an_atomic(block: &mut Block<64>, n: usize) {
    let (mut x, mut y) = (n, n + 1);
    let (one, other): (*mut usize, *mut usize) = (&mut x, &mut y);
    let held = AtomicPtr::new(one);
    if block.thread() > n {
        held.store(other, Ordering::Relaxed);
    }
    let is_one = held.into_inner() == one;
    // parts
    if is_one {
        block.sync_threads(()); // waits
    }
}

static SLOT: AtomicPtr<u32> = AtomicPtr::new(core::ptr::null_mut());

/// A pointer that went through a static.
#[kernel]
pub fn by_a_pointer_in_a_static(block: &mut Block<64>, n: u32) {
    let mut own = n;
    let own: *mut u32 = &mut own;
    SLOT.store(own, Ordering::Relaxed);
    let is_own = SLOT.load(Ordering::Relaxed) == own;
    // parts
    if is_own {
        block.sync_threads(()); // waits
    }
}

/// Two results of one call, the second through memory.
#[kernel]
pub fn by_a_sine_and_cosine(block: &mut Block<64>, x: f32) {
    // The host's floats have these methods themselves.
    #[cfg(target_arch = "nvptx64")]
    use cuda_std::GpuFloat;
    let (_, cos) = (x + block.thread() as f32).sin_cos();
    // parts
    if cos > 0.5 {
        block.sync_threads(()); // waits
    }
}

/// What is left over after chunks, of a slice whose start is the thread's.
#[kernel]
pub fn by_a_remainder_of_chunks(block: &mut Block<64>, n: usize) {
    let table = [n; 64];
    let left = table[block.thread() / 2..]
        .chunks_exact(5)
        .remainder()
        .len();
    // parts
    if left > 2 {
        block.sync_threads(()); // waits
    }
}

/// The place of an error in bytes.
#[kernel]
pub fn by_the_place_of_an_error(block: &mut Block<64>, n: usize) {
    let mut bytes = [b'a'; 16];
    bytes[(block.thread() + n) % 16] = 0xff;
    let place = core::str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), |_| n);
    // parts
    if place > 7 {
        block.sync_threads(()); // waits
    }
}

/// What an iterator that was cloned half way still has.
#[kernel]
pub fn by_a_cloned_iterator(block: &mut Block<64>, n: usize) {
    let table = [n; 9];
    let mut one = table.iter().enumerate().step_by(2);
    let _ = one.nth(block.thread() % 4);
    let other = one.clone();
    let rest = other.size_hint().0;
    // parts
    if rest > 1 {
        block.sync_threads(()); // waits
    }
}

/// A table of functions, as addresses that are compared.
#[kernel]
pub fn by_an_address_of_a_function(block: &mut Block<64>, n: usize) {
    fn one(x: usize) -> usize {
        x + 1
    }
    fn other(x: usize) -> usize {
        x * 3
    }
    let table: [fn(usize) -> usize; 2] = [one, other];
    let chosen = table[(block.thread() + n) & 1] as usize;
    // parts
    if chosen == one as fn(usize) -> usize as usize {
        block.sync_threads(()); // waits
    }
}

/// Whether an allocation can be had, which no panic follows.
#[kernel]
pub fn by_whether_there_is_memory(block: &mut Block<64>, n: usize) {
    let mut some = Vec::<u8>::new();
    let is_there = some.try_reserve_exact(n + 1).is_ok();
    // parts
    if is_there {
        block.sync_threads(()); // waits
    }
}

/// Two halves of a queue's ring.
#[kernel]
pub fn by_halves_of_a_ring(block: &mut Block<64>, n: usize) {
    let mut ring: VecDeque<usize> = (0..8).collect();
    for _ in 0..block.thread() % 5 {
        let first = ring.pop_front().unwrap_or(n);
        ring.push_back(first);
    }
    let whole = ring.as_slices().0.len();
    // parts
    if whole == 8 {
        block.sync_threads(()); // waits
    }
}

/// A state machine whose state is a function.
#[kernel]
pub fn by_a_state_that_is_a_function(block: &mut Block<64>, n: usize) {
    #[derive(Clone, Copy)]
    struct State(fn(usize) -> (usize, State));
    fn even(x: usize) -> (usize, State) {
        (
            x / 2,
            if x.is_multiple_of(3) {
                State(odd)
            } else {
                State(even)
            },
        )
    }
    fn odd(x: usize) -> (usize, State) {
        (
            x * 3 + 1,
            if x.is_multiple_of(2) {
                State(even)
            } else {
                State(odd)
            },
        )
    }
    let (mut x, mut state) = (block.thread(), State(even));
    for _ in 0..n % 7 {
        (x, state) = state.0(x);
    }
    // parts
    if x > n {
        block.sync_threads(()); // waits
    }
}

/// A sum that a panic's absence would make uniform.
#[kernel]
pub fn by_a_saturated_number(block: &mut Block<64>, n: u8) {
    let seen = n.saturating_add(block.thread() as u8).leading_zeros();
    // parts
    if seen > 2 {
        block.sync_threads(()); // waits
    }
}

/// A division of wide numbers, which a function does.
#[kernel]
pub fn by_a_wide_division(block: &mut Block<64>, n: u64) {
    let wide = u128::from(n) << 70 | block.thread() as u128;
    let rest = wide % (u128::from(n) + 7);
    // parts
    if rest < 3 {
        block.sync_threads(()); // waits
    }
}

/// A cell behind a counted pointer behind a cell, exchanged in one of two owners.
#[kernel]
pub fn by_one_of_two_owners(block: &mut Block<64>, n: usize) {
    let owner = Rc::new(RefCell::new(Box::new(n)));
    let owners = [Rc::clone(&owner), Rc::new(RefCell::new(Box::new(n)))];
    **owners[block.thread() & 1].borrow_mut() += 1;
    let seen = **owner.borrow();
    // parts
    if seen == n {
        block.sync_threads(()); // waits
    }
}

/// Rounds that an iterator of successors makes.
#[kernel]
pub fn by_successors(block: &mut Block<64>, n: usize) {
    let collatz = |&x: &usize| (x > 1).then(|| if x % 2 == 0 { x / 2 } else { 3 * x + 1 });
    // parts
    for _ in core::iter::successors(Some(block.thread() + n), collatz) {
        block.sync_threads(()); // waits
    }
}

/// The last word of an array that was filled from behind.
#[kernel]
pub fn by_what_was_filled_from_behind(block: &mut Block<64>, n: usize) {
    let mut table = [n; 8];
    for (slot, value) in table.iter_mut().rev().zip(0..block.thread()) {
        *slot = value;
    }
    let first = table.first().copied().unwrap_or_default();
    // parts
    if first == n {
        block.sync_threads(()); // waits
    }
}

/// An atomic of one's own behind a shared reference, in a closure behind a trait object.
#[kernel]
pub fn by_an_atomic_in_a_closure(block: &mut Block<64>, n: u32) {
    let count = AtomicU32::new(n);
    let add: &dyn Fn(u32) -> u32 = &|by| count.fetch_add(by, Ordering::Relaxed);
    if block.thread() > 40 {
        add(1);
    }
    let counted = add(0);
    // parts
    if counted == n {
        block.sync_threads(()); // waits
    }
}
