//! What is made of the heap, and the heap itself.

use alloc::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use alloc::collections::{BTreeMap, BinaryHeap, VecDeque};
use alloc::vec;
use core::cell::Cell;

use cuda_std::prelude::*;

/// The columns of [`collections`].
pub const COLUMNS: usize = 10;

/// One number from each kind of collection, for thread `t`.
pub fn from_collections(t: u32) -> [u32; COLUMNS] {
    let squares: Vec<u32> = (0..=t).map(|i| i * i).collect();
    // Grows from nothing, so that it moves several times.
    let mut grown = Vec::new();
    for i in 0..3 * t {
        grown.push(i ^ t);
    }
    grown.sort_by_key(|value| value % 7);
    let text = format!("{t}: {:?}", &squares[..squares.len().min(3)]);
    let mut joined = String::new();
    for word in text.split(' ').rev() {
        joined.push_str(word);
        joined.push('ñ');
    }
    let boxed: Box<dyn Fn(u32) -> u32> = Box::new(move |x| x + t);
    let shared = Rc::new(Cell::new(t));
    let other = Rc::clone(&shared);
    other.set(shared.get() + Rc::strong_count(&shared) as u32);
    let mut map = BTreeMap::new();
    for (i, value) in grown.iter().enumerate() {
        *map.entry(value % 13).or_insert(0) += i as u32;
    }
    map.remove(&5);
    let mut queue: VecDeque<u32> = (0..t).collect();
    queue.rotate_left(t as usize / 3);
    queue.push_front(99);
    let mut largest: BinaryHeap<u32> = grown.iter().copied().collect();
    let nested: Vec<Vec<u32>> = (0..4).map(|i| vec![i + t; i as usize]).collect();
    [
        squares.iter().sum(),
        grown
            .iter()
            .fold(0, |all, value| (all * 31 + value) % 65_521),
        text.len() as u32,
        joined
            .bytes()
            .fold(7, |all, byte| all * 33 % 65_521 + u32::from(byte)),
        core::hint::black_box(boxed)(5),
        shared.get(),
        map.iter()
            .fold(1, |all, (key, value)| (all * 17 + key * value) % 65_521),
        queue
            .iter()
            .fold(3, |all, value| (all * 19 + value) % 65_521),
        largest.pop().unwrap_or(1234) + largest.len() as u32,
        nested.concat().iter().sum(),
    ]
}

/// [`COLUMNS`] columns: [`from_collections`].
#[kernel]
pub unsafe fn collections(out: *mut u32) {
    let t = thread::index_1d();
    for (column, value) in (0..).zip(from_collections(t)) {
        // SAFETY: the crate's rule.
        unsafe { out.add(t as usize * COLUMNS + column).write(value) };
    }
}

/// 1 column: the sum of what `rounds` vectors of `len` elements held, one after the other.
#[kernel]
pub unsafe fn reuse(len: usize, rounds: u32, out: *mut u32) {
    let t = thread::index_1d();
    let mut sum = 0;
    for round in 0..rounds {
        let values = vec![round + t; len];
        sum += core::hint::black_box(&values)[len / 2];
    }
    // SAFETY: the crate's rule.
    unsafe { out.add(t as usize).write(sum) }
}

/// 1 column: 0, or the first alignment for which the allocator's memory was not as promised:
/// aligned, zeroed if requested, unchanged after a move, and exclusive.
#[kernel]
pub unsafe fn alignments(out: *mut u32) {
    let t = thread::index_1d();
    let wrong = (0..13).map(|shift| 1 << shift).find(|&align| {
        let size = 3 * align + t as usize + 1;
        // SAFETY: the layouts are not empty; each block is freed with the layout that it has.
        unsafe {
            let layout = Layout::from_size_align_unchecked(size, align);
            let zeroed = alloc_zeroed(layout);
            let place = alloc(layout);
            if zeroed.is_null() || place.is_null() {
                return true;
            }
            let mut good =
                zeroed.addr().is_multiple_of(align) && place.addr().is_multiple_of(align);
            good &= (0..size).all(|i| zeroed.add(i).read() == 0);
            for i in 0..size {
                place.add(i).write(i as u8 ^ t as u8);
            }
            let moved = realloc(place, layout, 2 * size);
            if moved.is_null() {
                return true;
            }
            good &= moved.addr().is_multiple_of(align);
            good &= (0..size).all(|i| moved.add(i).read() == i as u8 ^ t as u8);
            dealloc(zeroed, layout);
            dealloc(moved, Layout::from_size_align_unchecked(2 * size, align));
            !good
        }
    });
    // SAFETY: the crate's rule.
    unsafe { out.add(t as usize).write(wrong.unwrap_or(0) as u32) }
}

/// 1 column: 4 if all that has no size works without memory.
#[kernel]
pub unsafe fn zero_sized(out: *mut u32) {
    let t = thread::index_1d();
    let units = vec![(); t as usize];
    let boxed = Box::new(());
    let empty: Vec<u64> = Vec::new();
    let text = String::new();
    let good = [
        units.len() == t as usize,
        size_of_val(&*core::hint::black_box(boxed)) == 0,
        empty.is_empty(),
        text.is_empty(),
    ];
    // SAFETY: the crate's rule.
    unsafe {
        out.add(t as usize)
            .write(good.iter().filter(|&&good| good).count() as u32)
    }
}

/// 1 column: whether a vector of `bytes` bytes could be had, 1 or 0. Asks politely.
#[kernel]
pub unsafe fn try_reserve(bytes: usize, out: *mut u32) {
    let mut values = Vec::<u8>::new();
    let got = values.try_reserve_exact(bytes).is_ok();
    core::hint::black_box(&values);
    // SAFETY: the crate's rule.
    unsafe { out.add(thread::index_1d() as usize).write(got as u32) }
}

/// 1 column: the length of a vector of `bytes` bytes. Insists.
#[kernel]
pub unsafe fn reserve(bytes: usize, out: *mut u32) {
    let values = vec![1_u8; bytes];
    // SAFETY: the crate's rule.
    unsafe {
        out.add(thread::index_1d() as usize)
            .write(core::hint::black_box(&values).len() as u32)
    }
}
