//! Values that travel by other ways: addresses as numbers and bytes, structs that hold references,
//! closures, trait objects, allocations, atomics of a thread's own.

extern crate alloc;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::{Cell, OnceCell};
use core::future::Future;
use core::mem::MaybeUninit;
use core::pin::pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll, Waker};
use cuda_std::prelude::*;

/// The bytes of an address.
#[kernel]
pub fn by_bytes_of_an_address(block: &mut Block<64>, n: usize) {
    let variable = Cell::new(n);
    let bytes = core::ptr::from_ref(&variable).addr().to_ne_bytes();
    variable.set(block.thread());
    let sum = bytes.iter().fold(0_u8, |sum, byte| sum ^ byte);
    // parts
    if sum < 32 {
        block.sync_threads(()); // waits
    }
}

/// The distance of two variables of two functions, one of which calls itself a threads' number of
/// times.
#[kernel]
pub fn by_a_distance_of_frames(block: &mut Block<64>) {
    #[inline(never)]
    fn deep(depth: usize, from: usize) -> usize {
        let own = Cell::new(depth);
        match depth {
            0 => core::ptr::from_ref(&own).addr().wrapping_sub(from),
            _ => deep(depth - 1, from) ^ own.get() & 1,
        }
    }
    let first = Cell::new(0);
    let distance = deep(block.thread() % 4, core::ptr::from_ref(&first).addr());
    // parts
    if (distance / 64).is_multiple_of(2) {
        block.sync_threads(()); // waits
    }
}

/// An order of the addresses of two variables.
#[kernel]
pub fn by_an_order_of_allocations(block: &mut Block<64>, n: usize) {
    let (a, b) = (Box::new(Cell::new(n)), Box::new(Cell::new(n)));
    // parts
    if core::ptr::from_ref(&*a) < core::ptr::from_ref(&*b) {
        block.sync_threads(()); // waits
    }
}

/// References that are taken out and put back in a loop.
#[kernel]
pub fn by_replacing_in_a_loop(block: &mut Block<64>, n: usize) {
    let cells = [(); 4].map(|()| Cell::new(0));
    let mut slots = [&cells[0], &cells[1], &cells[2]];
    let mut held = &cells[3];
    for i in 0..n {
        held = core::mem::replace(&mut slots[i % 3], held);
    }
    held.set(block.thread());
    let seen = cells[n % 4].get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// Cells of an array, exchanged as cells of a slice.
#[kernel]
pub fn by_a_slice_of_cells(block: &mut Block<64>, n: usize) {
    let mut values = [0_usize; 9];
    {
        let cells = Cell::from_mut(&mut values[..]).as_slice_of_cells();
        cells[n % 9].set(block.thread());
        for i in 0..n % 8 {
            cells[i].swap(&cells[i + 1]);
        }
        cells[..3]
            .iter()
            .zip(&cells[6..])
            .for_each(|(a, b)| a.swap(b));
    }
    // parts
    if values[4] < 32 {
        block.sync_threads(()); // waits
    }
}

/// A reference at an odd offset of a struct that is copied whole.
#[kernel]
pub fn by_a_packed_struct(block: &mut Block<64>, n: usize) {
    #[derive(Clone, Copy)]
    #[repr(C, packed)]
    struct Packed<'a>(u8, &'a Cell<usize>, u16);
    let (x, y) = (Cell::new(0), Cell::new(0));
    let mut table = [Packed(1, &x, 2); 7];
    table[n % 7] = Packed(3, &y, 4);
    table.copy_within(n % 3..n % 3 + 4, 2);
    let chosen = table[n % 5];
    { chosen.1 }.set(block.thread());
    let seen = y.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// A large struct with a reference in its middle, exchanged.
#[kernel]
pub fn by_a_large_struct(block: &mut Block<64>, n: usize) {
    #[derive(Clone)]
    struct Large<'a> {
        before: [u8; 37],
        cell: &'a Cell<usize>,
        after: [u64; 9],
    }
    let (x, y) = (Cell::new(0), Cell::new(0));
    let of = |cell| Large {
        before: [n as u8; 37],
        cell,
        after: [n as u64; 9],
    };
    let mut all = [of(&x), of(&y), of(&x)];
    all.swap(n % 3, 1);
    let copy = all[n % 3].clone();
    all[1] = core::mem::replace(&mut all[0], copy);
    all[1]
        .cell
        .set(block.thread() + usize::from(all[1].before[3]) * all[0].after[2] as usize);
    let seen = x.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// A reference that a function returns, or does not.
#[kernel]
pub fn by_a_returned_option(block: &mut Block<64>, n: usize) {
    #[inline(never)]
    fn at<'a>(cells: &[&'a Cell<usize>], n: usize) -> Option<&'a Cell<usize>> {
        cells.get(n).copied()
    }
    let (x, y) = (Cell::new(0), Cell::new(0));
    let cells = [&x, &y, &x];
    let cell = at(&cells, n).or_else(|| at(&cells, n % 3));
    if let Some(cell) = cell {
        cell.set(block.thread());
    }
    let seen = x.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// A closure that holds a closure that holds a variable.
#[kernel]
pub fn by_nested_closures(block: &mut Block<64>, n: usize) {
    #[inline(never)]
    fn twice(body: &mut dyn FnMut(usize), value: usize) {
        body(1);
        body(value);
    }
    let mut x = 0;
    {
        let mut set = |value| x = value;
        let mut inner: &mut dyn FnMut(usize) = &mut set;
        let mut other = |_| {};
        let mut second: &mut dyn FnMut(usize) = &mut other;
        if n % 2 == 1 {
            core::mem::swap(&mut inner, &mut second);
        }
        let mut outer = |value| inner(value + 1);
        twice(&mut outer, block.thread());
    }
    // parts
    if x < 32 {
        block.sync_threads(()); // waits
    }
}

/// A number.
trait Get {
    fn get(&self) -> usize;
}
struct First<'a>(&'a Cell<usize>);
struct Second<'a>(usize, &'a Cell<usize>);
impl Get for First<'_> {
    fn get(&self) -> usize {
        self.0.get()
    }
}
impl Get for Second<'_> {
    fn get(&self) -> usize {
        self.1.get() + self.0
    }
}

/// Trait objects that are exchanged.
#[kernel]
pub fn by_swapped_trait_objects(block: &mut Block<64>, n: usize) {
    let (x, y) = (Cell::new(7), Cell::new(block.thread()));
    let (a, b, c) = (First(&x), Second(1, &y), Second(0, &x));
    let (mut all, mut others): ([&dyn Get; 3], [&dyn Get; 2]) = ([&a, &b, &c], [&a, &c]);
    all.swap(n % 3, 0);
    core::mem::swap(&mut all[n % 2], &mut others[n % 2]);
    let seen = others[n % 2].get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// A table of methods of each thread's choice, which return what all threads have.
#[kernel]
pub fn by_a_chosen_trait_object(block: &mut Block<64>, n: usize) {
    let x = Cell::new(n);
    let (a, b) = (First(&x), Second(1, &x));
    let own: &dyn Get = if block.thread() < 32 { &a } else { &b };
    let seen = own.get();
    // parts
    if seen == n {
        block.sync_threads(()); // waits
    }
}

/// An array that a closure with a state fills.
#[kernel]
pub fn by_an_array_of_a_closure(block: &mut Block<64>, n: usize) {
    let (count, t) = (Cell::new(n), block.thread());
    let all: [usize; 5] = core::array::from_fn(|i| {
        count.set(count.get() + if i == 3 { t } else { i });
        count.get()
    });
    // parts
    if all[n % 5] < 32 {
        block.sync_threads(()); // waits
    }
}

/// An atomic of the thread's own, whose value is taken out without an atomic load.
#[kernel]
pub fn by_an_atomic_of_ones_own(block: &mut Block<64>, n: usize) {
    let (mut x, y) = (AtomicUsize::new(n), AtomicUsize::new(n));
    let chosen = [&x, &y][n % 2];
    chosen.store(block.thread(), Ordering::Relaxed);
    let seen = *x.get_mut();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// Shared ownership of a cell.
#[kernel]
pub fn by_shared_ownership(block: &mut Block<64>, n: usize) {
    let x = Rc::new(Cell::new(n));
    let mut all: Vec<Rc<Cell<usize>>> = (0..3).map(|i| Rc::new(Cell::new(i))).collect();
    all.push(Rc::clone(&x));
    all.rotate_right(n % 4);
    all[n % 4].set(block.thread());
    let seen = x.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// A queue of references that grows.
#[kernel]
pub fn by_a_queue(block: &mut Block<64>, n: usize) {
    let (x, y) = (Cell::new(0), Cell::new(0));
    let mut queue = VecDeque::new();
    for i in 0..n % 20 {
        queue.push_front(if i % 3 == 1 { &x } else { &y });
    }
    if let Some(cell) = queue.pop_back() {
        cell.set(block.thread());
    }
    let seen = x.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// A list of boxes that is turned round.
#[kernel]
pub fn by_a_turned_list(block: &mut Block<64>, n: usize) {
    struct Node<'a>(&'a Cell<usize>, Option<Box<Node<'a>>>);
    let (x, y) = (Cell::new(0), Cell::new(0));
    let mut list = None;
    for i in 0..n % 5 + 1 {
        list = Some(Box::new(Node(if i == 0 { &x } else { &y }, list)));
    }
    let mut turned = None;
    while let Some(mut node) = list.take() {
        list = core::mem::replace(&mut node.1, turned.take());
        turned = Some(node);
    }
    if let Some(node) = turned {
        node.0.set(block.thread());
    }
    let seen = x.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// Memory that is written late, by the reference that the write returns.
#[kernel]
pub fn by_a_late_write(block: &mut Block<64>, n: usize) {
    let (x, y) = (Cell::new(0), Cell::new(0));
    let mut late = [MaybeUninit::<[&Cell<usize>; 2]>::uninit(); 2];
    let once = OnceCell::new();
    let pair = late[n % 2].write([&x, &y]);
    pair.swap(0, n % 2);
    let held = once.get_or_init(|| pair[n % 2]);
    held.set(block.thread());
    let seen = y.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// What a future holds from one poll to the next.
#[kernel]
pub fn by_the_state_of_a_future(block: &mut Block<64>, n: usize) {
    let (x, y) = (Cell::new(0), Cell::new(0));
    let t = block.thread();
    {
        let mut polls = 0;
        let mut pause = core::future::poll_fn(move |_| {
            polls += 1;
            if polls % 2 == 1 {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        });
        let mut future = pin!(async {
            let mut pair = [&x, &y];
            pair.swap(0, n % 2);
            (&mut pause).await;
            pair[n % 2].set(t);
            (&mut pause).await;
        });
        let mut context = Context::from_waker(Waker::noop());
        while future.as_mut().poll(&mut context).is_pending() {}
    }
    let seen = x.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// An iterator behind a pointer, over references.
#[kernel]
pub fn by_an_iterator_behind_a_pointer(block: &mut Block<64>, n: usize) {
    let cells = [(); 4].map(|()| Cell::new(0));
    let (mut forth, mut back) = (cells.iter(), cells.iter().rev().skip(1));
    let own: &mut dyn Iterator<Item = &Cell<usize>> = if n.is_multiple_of(2) {
        &mut forth
    } else {
        &mut back
    };
    if let Some(cell) = own.nth(n % 3) {
        cell.set(block.thread());
    }
    let seen = cells[2].get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// Exclusive references that are split off and given back.
#[kernel]
pub fn by_parts_of_a_table(block: &mut Block<64>, n: usize) {
    let mut values = [[0_usize; 3]; 4];
    let mut rest = &mut values[..];
    let mut rows: [Option<&mut [usize; 3]>; 4] = [const { None }; 4];
    for row in &mut rows {
        *row = rest.split_off_first_mut();
    }
    rows.reverse();
    rows.swap(n % 4, 0);
    if let Some(row) = &mut rows[n % 4] {
        row[n % 3] = block.thread();
    }
    // parts
    if values.as_flattened()[n % 12] < 32 {
        block.sync_threads(()); // waits
    }
}

/// Whether an allocation gets the place of one that was freed.
#[kernel]
pub fn by_a_reused_place(block: &mut Block<64>, n: u32) {
    let (mut last, mut again) = (0, false);
    for i in 0..n {
        let held = Box::new(Cell::new(i));
        let place = core::ptr::from_ref(&*held).addr();
        again = place == last;
        last = place;
    }
    // parts
    if again {
        block.sync_threads(()); // waits
    }
}

/// The same of pointers.
#[kernel]
pub fn by_a_pointer_to_what_was_freed(block: &mut Block<64>, n: u32) {
    let (mut last, mut again) = (core::ptr::null(), false);
    for i in 0..n {
        let held = Box::new(Cell::new(i));
        again = core::ptr::eq(&*held, last);
        last = &raw const *held;
    }
    // parts
    if again {
        block.sync_threads(()); // waits
    }
}

/// An order of addresses that may lie on both sides of the last one.
#[kernel]
pub fn by_an_order_after_a_wrap(block: &mut Block<64>, n: usize) {
    let variable = Cell::new(n);
    let start = &raw const variable;
    let far = start.wrapping_byte_add(n);
    // parts
    if far < start {
        block.sync_threads(()); // waits
    }
}
