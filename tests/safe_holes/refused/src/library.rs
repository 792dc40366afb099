//! Values that go through the library: text, formats, searches, entries, windows, downcasts, and what
//! iterators and cells keep for a while.

extern crate alloc;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, LinkedList, VecDeque};
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use core::cell::{Cell, OnceCell, RefCell};
use core::cmp::Reverse;
use core::num::{NonZeroUsize, Wrapping};
use core::ops::ControlFlow;
use cuda_std::prelude::*;

/// A number that is written as text and read again.
#[kernel]
pub fn by_a_text(block: &mut Block<64>, n: usize) {
    let text = format!("{}{:03}", n % 10, block.thread());
    let read: usize = text[1..].parse().unwrap_or(n);
    // parts
    if read < 32 {
        block.sync_threads(()); // waits
    }
}

/// The length of a text.
#[kernel]
pub fn by_a_texts_length(block: &mut Block<64>, n: usize) {
    let mut text = String::new();
    for i in 0..n % 3 + block.thread() / 32 {
        text.push(if i == 1 { 'ü' } else { 'u' });
    }
    let count = text.chars().rev().count();
    // parts
    if count < 2 {
        block.sync_threads(()); // waits
    }
}

/// Where a search in a uniform table ends.
#[kernel]
pub fn by_a_search(block: &mut Block<64>, n: usize) {
    let table: [usize; 9] = core::array::from_fn(|i| i * (n % 5 + 1));
    let at = table.partition_point(|&x| x < block.thread());
    let found = table.binary_search(&at).is_ok();
    // parts
    if found {
        block.sync_threads(()); // waits
    }
}

/// The entry of a map that each thread changed.
#[kernel]
pub fn by_an_entry(block: &mut Block<64>, n: usize) {
    let mut map = BTreeMap::new();
    for i in 0..n % 6 {
        *map.entry(i % 3).or_insert(0) += i;
    }
    map.entry(n % 4)
        .and_modify(|value| *value += block.thread())
        .or_insert_with(|| block.thread() + 7);
    let last = map.into_values().last().unwrap_or(0);
    // parts
    if last < 32 {
        block.sync_threads(()); // waits
    }
}

/// What lies in a part of a set.
#[kernel]
pub fn by_a_range_of_a_set(block: &mut Block<64>, n: usize) {
    let set: BTreeSet<usize> = (0..n % 40).map(|i| i * 5 % 37).collect();
    let count = set.range(block.thread()..).take(3).count();
    // parts
    if count == 3 {
        block.sync_threads(()); // waits
    }
}

/// A downcast to a type that only some threads' value has.
#[kernel]
pub fn by_a_downcast(block: &mut Block<64>, n: usize) {
    let value: Box<dyn Any> = if block.thread() % 7 == n % 7 {
        Box::new(3_u8)
    } else {
        Box::new(3_u16)
    };
    let is_byte = value.is::<u8>();
    // parts
    if is_byte {
        block.sync_threads(()); // waits
    }
}

/// A fold that a thread's value breaks off.
#[kernel]
pub fn by_a_fold_that_breaks(block: &mut Block<64>, n: usize) {
    let t = block.thread();
    let flow = (0..n % 50).try_fold(0_usize, |sum, i| match sum + i {
        sum if sum > t * 3 => ControlFlow::Break(i),
        sum => ControlFlow::Continue(sum),
    });
    let is_over = flow.is_break();
    // parts
    if is_over {
        block.sync_threads(()); // waits
    }
}

/// What a cell was first filled with, behind a reference to it.
#[kernel]
pub fn by_a_cell_filled_once(block: &mut Block<64>, n: usize) {
    let once = OnceCell::new();
    let both = [&once, &once];
    if n.is_multiple_of(3) {
        both[n % 2].get_or_init(|| n);
    }
    let value = *once.get_or_init(|| block.thread());
    // parts
    if value < 32 {
        block.sync_threads(()); // waits
    }
}

/// A value that is mapped within a borrow.
#[kernel]
pub fn by_a_mapped_borrow(block: &mut Block<64>, n: usize) {
    let pair = RefCell::new((n, [n; 3]));
    *core::cell::RefMut::map(pair.borrow_mut(), |pair| &mut pair.1[n % 3]) = block.thread();
    let sum: usize = pair.borrow().1.iter().sum();
    // parts
    if sum < 100 {
        block.sync_threads(()); // waits
    }
}

/// Whether a borrow of some threads still lasts.
#[kernel]
pub fn by_a_borrow_that_lasts(block: &mut Block<64>, n: usize) {
    let cell = RefCell::new(n);
    let held = (block.thread().is_multiple_of(2)).then(|| cell.borrow());
    let is_free = cell.try_borrow_mut().is_ok();
    drop(held);
    // parts
    if is_free {
        block.sync_threads(()); // waits
    }
}

/// Cells of an array behind one cell.
#[kernel]
pub fn by_an_array_of_cells(block: &mut Block<64>, n: usize) {
    let cell = Cell::new([n; 5]);
    let slice: &Cell<[usize]> = &cell;
    slice.as_slice_of_cells()[n % 5].set(block.thread());
    let values = cell.get();
    let first = values
        .iter()
        .copied()
        .min_by_key(|&x| Reverse(x))
        .unwrap_or(0);
    // parts
    if first < 32 {
        block.sync_threads(()); // waits
    }
}

/// What is looked at and put back.
#[kernel]
pub fn by_a_peeked_value(block: &mut Block<64>, n: usize) {
    let t = block.thread();
    let mut rest = (0..n % 20).map(|i| i ^ t).peekable();
    let mut seen = 0;
    while let Some(next) = rest.next_if(|&x| x < 40) {
        seen += next;
    }
    let left = rest.count();
    // parts
    if left > 0 && seen < 1_000_000 {
        block.sync_threads(()); // waits
    }
}

/// What an iterator that is passed on by reference has left.
#[kernel]
pub fn by_an_iterator_passed_on(block: &mut Block<64>, n: usize) {
    fn skip(rest: &mut dyn Iterator<Item = usize>, count: usize) {
        for _ in 0..count {
            rest.next();
        }
    }
    let mut numbers = 0..n;
    skip(numbers.by_ref(), block.thread());
    let next = numbers.next().unwrap_or(usize::MAX);
    // parts
    if next < 32 {
        block.sync_threads(()); // waits
    }
}

/// A ring whose end a thread's rounds decide.
#[kernel]
pub fn by_a_turned_ring(block: &mut Block<64>, n: usize) {
    let mut ring: VecDeque<usize> = (0..n % 9 + 1).collect();
    for _ in 0..block.thread() {
        if let Some(front) = ring.pop_front() {
            ring.push_back(front);
        }
    }
    let first = ring.make_contiguous()[0];
    // parts
    if first == 0 {
        block.sync_threads(()); // waits
    }
}

/// A list that is split and joined.
#[kernel]
pub fn by_a_joined_list(block: &mut Block<64>, n: usize) {
    let mut list: LinkedList<usize> = (0..n % 8).collect();
    let mut tail = list.split_off(list.len() / 2);
    tail.push_front(block.thread());
    tail.append(&mut list);
    let front = tail.pop_front().unwrap_or(n);
    // parts
    if front < 32 {
        block.sync_threads(()); // waits
    }
}

/// What neighbours of a slice have in common.
#[kernel]
pub fn by_runs_of_a_slice(block: &mut Block<64>, n: usize) {
    let mut values = [n; 12];
    values[n % 12] = block.thread();
    let runs = values.chunk_by(|a, b| a == b).count();
    // parts
    if runs == 1 {
        block.sync_threads(()); // waits
    }
}

/// The smallest numbers first, of a table with one of a thread.
#[kernel]
pub fn by_a_selection(block: &mut Block<64>, n: usize) {
    let mut values: [usize; 7] = core::array::from_fn(|i| i * n % 41);
    values[3] ^= block.thread();
    let (_, middle, _) = values.select_nth_unstable(3);
    let middle = *middle;
    // parts
    if middle < 32 {
        block.sync_threads(()); // waits
    }
}

/// Numbers in wrappers of the library.
#[kernel]
pub fn by_wrapped_numbers(block: &mut Block<64>, n: usize) {
    let wrapped = Wrapping(n) - Wrapping(block.thread());
    let zeros = NonZeroUsize::new(wrapped.0).map_or(64, NonZeroUsize::leading_zeros);
    // parts
    if zeros == 0 {
        block.sync_threads(()); // waits
    }
}

/// An addition that overflows in some threads.
#[kernel]
pub fn by_an_overflow(block: &mut Block<64>, n: usize) {
    let sum = (usize::MAX - n % 50).checked_add(block.thread());
    // parts
    if sum.is_some() {
        block.sync_threads(()); // waits
    }
}

/// The order of floats.
#[kernel]
pub fn by_an_order_of_floats(block: &mut Block<64>, n: usize) {
    let own = f64::from(block.thread() as u32).sqrt();
    let order = own.total_cmp(&(n as f64));
    // parts
    if order.is_lt() {
        block.sync_threads(()); // waits
    }
}

/// What is taken out of an option and put into another.
#[kernel]
pub fn by_options_exchanged(block: &mut Block<64>, n: usize) {
    let mut slots: [Option<Box<usize>>; 4] = [const { None }; 4];
    slots[n % 4] = Some(Box::new(n));
    let own = slots[n % 4].replace(Box::new(block.thread()));
    slots[(n + 1) % 4] = own;
    let taken = slots[n % 4].take_if(|x| **x < 32);
    // parts
    if taken.is_some() {
        block.sync_threads(()); // waits
    }
}

/// What the owner alone may change.
#[kernel]
pub fn by_an_only_owner(block: &mut Block<64>, n: usize) {
    let mut owned = Rc::new(n);
    let second = (block.thread() == n).then(|| Rc::clone(&owned));
    *Rc::make_mut(&mut owned) += 1;
    let is_one = second.is_none_or(|second| Rc::ptr_eq(&second, &owned));
    // parts
    if is_one {
        block.sync_threads(()); // waits
    }
}

/// Functions put into a vector by some threads.
#[kernel]
pub fn by_boxed_functions(block: &mut Block<64>, n: usize) {
    let mut sum = n;
    let mut all: Vec<Box<dyn Fn(usize) -> usize>> = Vec::new();
    all.push(Box::new(|x| x + 1));
    if block.thread() > n {
        all.push(Box::new(|x| x * 2));
    }
    while let Some(next) = all.pop() {
        sum = next(sum);
    }
    // parts
    if sum.is_multiple_of(2) {
        block.sync_threads(()); // waits
    }
}

/// A supertrait's method, through its object.
#[kernel]
pub fn by_a_wider_object(block: &mut Block<64>, n: usize) {
    trait Base {
        fn value(&self) -> usize;
    }
    trait Wider: Base {}
    struct Own(usize);
    impl Base for Own {
        fn value(&self) -> usize {
            self.0
        }
    }
    impl Wider for Own {}
    let (own, other) = (Own(block.thread()), Own(n));
    let objects: [&dyn Wider; 2] = [&own, &other];
    let base: &dyn Base = objects[n % 2];
    let value = base.value();
    // parts
    if value < 32 {
        block.sync_threads(()); // waits
    }
}

/// What one destructor leaves for the next.
#[kernel]
pub fn by_the_order_of_drops(block: &mut Block<64>, n: usize) {
    struct Note<'a>(&'a Cell<usize>, usize);
    impl Drop for Note<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() * 3 + self.1);
        }
    }
    let noted = Cell::new(n);
    {
        let mut notes: Vec<_> = (0..n % 4).map(|i| Note(&noted, i)).collect();
        notes.truncate(block.thread());
        core::mem::forget(notes);
    }
    let seen = noted.get();
    // parts
    if seen == n {
        block.sync_threads(()); // waits
    }
}

/// A choice without a branch.
#[kernel]
pub fn by_a_choice_without_a_branch(block: &mut Block<64>, n: usize) {
    let (x, y) = (Cell::new(n), Cell::new(n));
    let one = core::hint::select_unpredictable(block.thread() > n, &x, &y);
    one.set(n + 1);
    let seen = x.get();
    // parts
    if seen == n {
        block.sync_threads(()); // waits
    }
}
