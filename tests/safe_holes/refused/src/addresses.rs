//! Values that a thread reaches by an address that has travelled: in arrays that are exchanged,
//! moved, copied and returned, where an address is a number to the compiler.

use core::cell::{Cell, RefCell};
use cuda_std::prelude::*;

/// An exchange of rows of references.
#[kernel]
pub fn by_swapped_references(block: &mut Block<64>, n: usize) {
    let (t, zero) = (block.thread(), 0);
    let (mut a, mut c) = ([[&t]; 2], [[&zero]; 2]);
    core::mem::swap(&mut a[n], &mut c[n]);
    let own = *c[n][0];
    // parts
    if own < 32 {
        block.sync_threads(()); // waits
    }
}

/// A store through an exchanged reference.
#[kernel]
pub fn by_a_store_through_a_swapped_cell(block: &mut Block<64>, n: usize) {
    let (x, y) = (Cell::new(0), Cell::new(0));
    let (mut a, mut c) = ([[&x]; 2], [[&y]; 2]);
    core::mem::swap(&mut a[n], &mut c[n]);
    c[n][0].set(block.thread());
    let seen = x.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// Cells of references, exchanged.
#[kernel]
pub fn by_swapped_cells(block: &mut Block<64>, n: usize) {
    let (t, zero) = (block.thread(), 7);
    let (a, c) = ([&t, &zero].map(Cell::new), [&zero, &zero].map(Cell::new));
    a[n % 2].swap(&c[(n + 1) % 2]);
    let own = *c[(n + 1) % 2].get();
    // parts
    if own < 32 {
        block.sync_threads(()); // waits
    }
}

/// A row that is replaced and looked at elsewhere.
#[kernel]
pub fn by_a_replaced_row(block: &mut Block<64>, n: usize) {
    let (t, zero) = (block.thread(), 0);
    let mut rows = [[Some(&zero), None, None]; 3];
    let old = core::mem::replace(&mut rows[n % 3], [None, Some(&t), Some(&zero)]);
    rows[(n + 1) % 3] = core::mem::replace(&mut rows[n % 3], old);
    let own = rows[(n + 1) % 3][n % 2].map_or(0, |value| *value);
    // parts
    if own < 32 {
        block.sync_threads(()); // waits
    }
}

/// A table of references that is turned round.
#[kernel]
pub fn by_a_rotated_table(block: &mut Block<64>, n: usize) {
    let cells = [(); 5].map(|()| Cell::new(1));
    let mut table: [&Cell<usize>; 5] = core::array::from_fn(|i| &cells[i]);
    table.rotate_left(n % 5);
    table.reverse();
    table[n % 5].set(block.thread());
    let seen = cells[(n + 2) % 5].get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// A pair of references that a function returns, in two registers.
#[kernel]
pub fn by_a_returned_pair(block: &mut Block<64>, n: usize) {
    #[inline(never)]
    fn pair<'a>(a: &'a Cell<usize>, b: &'a Cell<usize>, n: usize) -> [&'a Cell<usize>; 2] {
        if n > 3 { [a, b] } else { [b, a] }
    }
    let (x, y) = (Cell::new(1), Cell::new(1));
    pair(&x, &y, n)[n % 2].set(block.thread());
    let seen = y.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// What closures hold, called through a table of them.
#[kernel]
pub fn by_a_table_of_closures(block: &mut Block<64>, n: usize) {
    let (x, y) = (Cell::new(1), Cell::new(1));
    let t = block.thread();
    let (set, leave) = (|| x.set(t), || y.set(3));
    let mut table: [&dyn Fn(); 3] = [&leave, &leave, &set];
    table.swap(n % 3, 2);
    table[n % 3]();
    let seen = x.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

#[derive(Clone, Copy)]
enum Slot<'a> {
    Number(u64),
    Cell(&'a Cell<usize>),
}

/// The payload of an enumeration that has a number there too.
#[kernel]
pub fn by_a_payload(block: &mut Block<64>, n: usize) {
    let (x, t) = (Cell::new(0), block.thread());
    let mut slots = [
        Slot::Number(4),
        Slot::Cell(&x),
        Slot::Number(5),
        Slot::Number(6),
    ];
    slots.copy_within(n % 2..n % 2 + 2, 2);
    for slot in &slots[2..] {
        match slot {
            Slot::Number(number) => x.set(x.get() + *number as usize),
            Slot::Cell(cell) => cell.set(t),
        }
    }
    let seen = x.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// References to references, one of which is another one when it is used.
#[kernel]
pub fn by_a_borrowed_reference(block: &mut Block<64>, n: usize) {
    let (mut x, mut y) = (0, 0);
    {
        let slots = [RefCell::new(&mut x), RefCell::new(&mut y)];
        slots[n % 2].swap(&slots[1 - n % 2]);
        **slots[n % 2].borrow_mut() = block.thread();
    }
    // parts
    if y < 32 {
        block.sync_threads(()); // waits
    }
}

struct Node<'a> {
    value: Cell<usize>,
    next: Option<&'a Node<'a>>,
}

/// A list on the stack of a function that calls itself.
#[kernel]
pub fn by_a_list(block: &mut Block<64>, n: usize) {
    fn grow(depth: usize, next: Option<&Node<'_>>, value: usize) {
        let node = Node {
            value: Cell::new(depth),
            next,
        };
        if depth > 0 {
            return grow(depth - 1, Some(&node), value);
        }
        let mut last = &node;
        while let Some(next) = last.next {
            last = next;
        }
        last.value.set(value);
    }
    let first = Node {
        value: Cell::new(n),
        next: None,
    };
    grow(n % 5, Some(&first), block.thread());
    let seen = first.value.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// Two halves of a table, exchanged in chunks that are no multiple of an address.
#[kernel]
pub fn by_swapped_halves(block: &mut Block<64>, n: usize) {
    let (t, zero) = (block.thread(), 9);
    let mut table = [(&zero, 1_u8, 2_u32); 6];
    table[n % 3].0 = &t;
    let (left, right) = table.split_at_mut(3);
    left.swap_with_slice(right);
    let own = *table[3 + n % 3].0;
    // parts
    if own < 32 {
        block.sync_threads(()); // waits
    }
}

/// A sorted table of references.
#[kernel]
pub fn by_a_sorted_table(block: &mut Block<64>, n: usize) {
    let numbers: [usize; 6] = core::array::from_fn(|i| (i * 7 + n) % 5);
    let cells = [(); 6].map(|()| Cell::new(0));
    let mut table: [(usize, &Cell<usize>); 6] = core::array::from_fn(|i| (numbers[i], &cells[i]));
    table.sort_unstable_by_key(|(number, _)| *number);
    table[0].1.set(block.thread());
    let seen = cells[n % 6].get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// An allocation that a reference in another one leads to.
#[kernel]
pub fn by_a_boxed_reference(block: &mut Block<64>, n: usize) {
    extern crate alloc;
    let x = Cell::new(0);
    let table = alloc::vec![&x; n % 4 + 1];
    if let Some(cell) = table.last() {
        cell.set(block.thread());
    }
    let seen = x.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// A choice of each thread among functions of a table, which return the same for all.
#[kernel]
pub fn by_a_threads_choice_of_a_function(block: &mut Block<64>, n: u32) {
    const TABLE: [fn(u32) -> u32; 3] = [|n| n + 1, |n| n * 2, |n| n / 3];
    let chosen = TABLE[block.thread() % 3](n);
    // parts
    if chosen > 4 {
        block.sync_threads(()); // waits
    }
}

/// A function of a table that stores what differs.
#[kernel]
pub fn by_a_function_that_stores(block: &mut Block<64>, n: usize) {
    const TABLE: [fn(&Cell<usize>, usize); 2] = [|cell, _| cell.set(2), |cell, t| cell.set(t)];
    let x = Cell::new(0);
    TABLE[n % 2](&x, block.thread());
    let seen = x.get();
    // parts
    if seen < 32 {
        block.sync_threads(()); // waits
    }
}

/// A sum of what each thread takes from an input, in a function that is not inlined.
#[kernel]
pub fn by_a_sum_of_a_threads_part(block: &mut Block<64>, input: &[f32]) {
    #[inline(never)]
    fn sum(values: &[f32]) -> f32 {
        values.iter().sum()
    }
    let all = sum(input);
    let own = sum(input.get(..block.thread()).unwrap_or(input));
    // parts
    if all + own > 4.0 {
        block.sync_threads(()); // waits
    }
}
