//! Values that a thread reaches through what owns or holds them: collections, counted references,
//! closures, numbers in which they are packed.

extern crate alloc;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::Cell;
use cuda_std::prelude::*;

/// A value of a map, reached by its key.
#[kernel]
pub fn by_a_map(block: &mut Block<64>, n: usize) {
    let (x, y) = (Cell::new(0), Cell::new(0));
    let mut map = BTreeMap::new();
    for i in 0..n {
        map.insert(i * 7 % 13, if i % 3 == 0 { &x } else { &y });
    }
    if let Some(cell) = map.get(&(n % 13)) {
        cell.set(block.thread());
    }
    let seen = x.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// How many hold a value: each thread another number.
#[kernel]
pub fn by_a_count_of_owners(block: &mut Block<64>, n: usize) {
    let held = Rc::new(n);
    let all: Vec<_> = (0..block.thread()).map(|_| Rc::clone(&held)).collect();
    let owners = Rc::strong_count(&held);
    drop(all);
    // parts
    if owners < 32 {
        block.sync_threads(()); // waits
    }
}

/// A weak reference, whose value only some threads have dropped.
#[kernel]
pub fn by_a_weak_reference(block: &mut Block<64>, n: usize) {
    let held = Rc::new(n);
    let weak = Rc::downgrade(&held);
    if block.thread() < 32 {
        drop(held);
    }
    let is_there = weak.upgrade().is_some();
    // parts
    if is_there {
        block.sync_threads(()); // waits
    }
}

/// The length of what each thread has pushed.
#[kernel]
pub fn by_a_length(block: &mut Block<64>, n: usize) {
    let mut values = Vec::new();
    values.extend((0..block.thread()).map(|i| i + n));
    let len = values.len();
    // parts
    if len < 32 {
        block.sync_threads(()); // waits
    }
}

/// The first of a heap, into which a thread's value went behind a reference.
#[kernel]
pub fn by_a_heap(block: &mut Block<64>, n: usize) {
    let x = Cell::new(0);
    let mut heap = BinaryHeap::new();
    for i in 0..n % 5 {
        heap.push((i * 3 % 5, Box::new(&x)));
    }
    while let Some((order, cell)) = heap.pop() {
        cell.set(block.thread() + order);
    }
    let seen = x.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// References in an order that their values decide.
#[kernel]
pub fn by_sorted_references(block: &mut Block<64>, n: usize) {
    let cells: [Cell<usize>; 4] = core::array::from_fn(|i| Cell::new(i * n % 7));
    let mut sorted = [&cells[0], &cells[1], &cells[2], &cells[3]];
    sorted.sort_unstable_by_key(|cell| cell.get());
    sorted[n % 4].set(block.thread());
    let seen = cells[1].get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// A value that lies in the upper half of a wide number.
#[kernel]
pub fn by_a_wide_number(block: &mut Block<64>, n: usize) {
    let wide = (block.thread() as u128) << 64 | n as u128;
    let bytes = wide.rotate_left(8).to_be_bytes();
    let again = u128::from_be_bytes(bytes).rotate_right(8);
    // parts
    if (again >> 64) < 32 {
        block.sync_threads(()); // waits
    }
}

/// What a closure has written that was put away and taken out.
#[kernel]
pub fn by_a_closure_put_away(block: &mut Block<64>, n: usize) {
    let mut x = 0;
    let t = block.thread();
    let mut first = || x = t;
    let mut second = || ();
    let mut kept: [Option<&mut dyn FnMut()>; 2] = [Some(&mut second), Some(&mut first)];
    kept.swap(0, n % 2);
    if let Some(run) = kept[n % 2].take() {
        run();
    }
    // parts
    if x < 32 {
        block.sync_threads(()); // waits
    }
}

/// A borrowed or an own slice.
#[kernel]
pub fn by_a_borrowed_or_own_slice(block: &mut Block<64>, n: usize) {
    let table = [n; 4];
    let mut own = Cow::Borrowed(&table[..]);
    if n > 3 {
        own.to_mut()[n % 4] = block.thread();
    }
    let seen = own[1];
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// A rounded root of the thread's number.
#[kernel]
pub fn by_a_root(block: &mut Block<64>, n: usize) {
    let root = (block.thread() as f32 + n as f32).sqrt();
    // parts
    if root.max(2.5) < 5.0 {
        block.sync_threads(()); // waits
    }
}

/// A letter that the thread's number is.
#[kernel]
pub fn by_a_letter(block: &mut Block<64>, n: usize) {
    let letter = char::from_u32((block.thread() + n) as u32).unwrap_or(' ');
    // parts
    if letter.is_ascii_digit() {
        block.sync_threads(()); // waits
    }
}

/// A chain of cells of references, each taken out of the last.
#[kernel]
pub fn by_a_chain_of_cells(block: &mut Block<64>, n: usize) {
    struct Link<'a>(Cell<usize>, Cell<Option<&'a Link<'a>>>);
    let last = Link(Cell::new(0), Cell::new(None));
    let middle = Link(Cell::new(0), Cell::new(Some(&last)));
    let first = Link(Cell::new(0), Cell::new(Some(&middle)));
    let mut at = &first;
    for _ in 0..n {
        match at.1.take() {
            Some(next) => at = next,
            None => break,
        }
    }
    at.0.set(block.thread());
    let seen = middle.0.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// What black boxes hide.
#[kernel]
pub fn by_a_black_box(block: &mut Block<64>, n: usize) {
    let x = Cell::new(n);
    core::hint::black_box(&x).set(core::hint::black_box(block.thread()));
    let seen = core::hint::black_box(x.get());
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// A place in a table that holds its own places.
#[kernel]
pub fn by_a_table_of_places(block: &mut Block<64>, n: usize) {
    let mut table: [usize; 8] = core::array::from_fn(|i| (i * 3 + n) % 8);
    table[n % 8] = block.thread() % 8;
    let mut at = 0;
    for _ in 0..n {
        at = table[at];
    }
    // parts
    if at < 4 {
        block.sync_threads(()); // waits
    }
}

/// What is left of an iterator that a thread has shortened.
#[kernel]
pub fn by_what_is_left(block: &mut Block<64>, n: usize) {
    let table = [n; 64];
    let mut rest = table.iter();
    let _ = rest.by_ref().take(block.thread()).count();
    let left = rest.len();
    // parts
    if left < 32 {
        block.sync_threads(()); // waits
    }
}
