//! Barriers behind values that have travelled as those of `refused/src/puns.rs` do, and that all
//! threads share.

extern crate alloc;

use super::any;
use super::followed::wait_if;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::{Cell, OnceCell};
use core::future::Future;
use core::mem::MaybeUninit;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use cuda_std::prelude::*;

/// References that are taken out and put back in a loop.
#[kernel]
pub fn replaced_in_a_loop(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let cells = [(); 4].map(|()| Cell::new(0));
    let mut slots = [&cells[0], &cells[1], &cells[2]];
    let mut held = &cells[3];
    for i in 0..input.len() % 7 {
        held = core::mem::replace(&mut slots[i % 3], held);
    }
    held.set(any(input, 2));
    let own = wait_if(block, cells[input.len() % 4].get() % 2 == 0);
    output.mine().for_each(|(_, element)| *element = own);
}

/// Cells of an array, exchanged as cells of a slice.
#[kernel]
pub fn slice_of_cells(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let mut values: [u32; 9] = core::array::from_fn(|i| any(input, i));
    {
        let cells = Cell::from_mut(&mut values[..]).as_slice_of_cells();
        for i in 0..input.len() % 8 {
            cells[i].swap(&cells[i + 1]);
        }
        cells[..3]
            .iter()
            .zip(&cells[6..])
            .for_each(|(a, b)| a.swap(b));
    }
    let own = wait_if(block, values[4].is_multiple_of(2));
    output.mine().for_each(|(_, element)| *element = own);
}

/// A reference at an odd offset of a struct that is copied whole.
#[kernel]
pub fn packed_struct(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    #[derive(Clone, Copy)]
    #[repr(C, packed)]
    struct Packed<'a>(u8, &'a Cell<u32>, u16);
    let (x, y) = (Cell::new(0), Cell::new(0));
    let n = input.len();
    let mut table = [Packed(1, &x, 2); 7];
    table[n % 7] = Packed(3, &y, 4);
    table.copy_within(n % 3..n % 3 + 4, 2);
    { table[n % 5].1 }.set(any(input, 1));
    let own = wait_if(block, y.get() % 2 == 0);
    output.mine().for_each(|(_, element)| *element = own);
}

/// A closure that holds a closure that holds a variable.
#[kernel]
pub fn nested_closures(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    #[inline(never)]
    fn twice(body: &mut dyn FnMut(u32), value: u32) {
        body(1);
        body(value);
    }
    let mut x = 0;
    {
        let mut set = |value| x = value;
        let inner: &mut dyn FnMut(u32) = &mut set;
        let mut outer = |value| inner(value ^ 1);
        twice(&mut outer, any(input, 4));
    }
    let own = wait_if(block, x % 2 == 0);
    output.mine().for_each(|(_, element)| *element = own);
}

/// A number.
trait Get {
    fn get(&self) -> u32;
}
struct First<'a>(&'a Cell<u32>);
struct Second<'a>(u32, &'a Cell<u32>);
impl Get for First<'_> {
    fn get(&self) -> u32 {
        self.0.get()
    }
}
impl Get for Second<'_> {
    fn get(&self) -> u32 {
        self.1.get() ^ self.0
    }
}

/// Trait objects that are exchanged.
#[kernel]
pub fn swapped_trait_objects(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let (x, y, n) = (Cell::new(7), Cell::new(any(input, 3)), input.len());
    let (a, b, c) = (First(&x), Second(1, &y), Second(0, &x));
    let (mut all, mut others): ([&dyn Get; 3], [&dyn Get; 2]) = ([&a, &b, &c], [&a, &c]);
    all.swap(n % 3, 0);
    core::mem::swap(&mut all[n % 2], &mut others[n % 2]);
    let own = wait_if(block, others[n % 2].get() % 2 == 0);
    output.mine().for_each(|(_, element)| *element = own);
}

/// A vector that is collected and looked through.
#[kernel]
pub fn collected_vector(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let values: Vec<u32> = (0..input.len() % 9 + 1).map(|at| any(input, at)).collect();
    let own = wait_if(
        block,
        values.iter().fold(0, |sum, value| sum ^ value) % 2 == 0,
    );
    output.mine().for_each(|(_, element)| *element = own);
}

/// What a loop allocates is looked through in its own round.
#[kernel]
pub fn vectors_of_a_loop(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let mut own = 0;
    for round in 0..input.len() % 3 {
        let mut values = Vec::new();
        for at in 0..=round {
            values.push(any(input, at));
        }
        let sum = values
            .iter()
            .rev()
            .fold(1_u32, |sum, value| sum.wrapping_mul(*value | 1));
        own += wait_if(block, sum % 3 == 0);
    }
    output.mine().for_each(|(_, element)| *element = own);
}

/// Shared ownership of cells.
#[kernel]
pub fn shared_ownership(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let x = Rc::new(Cell::new(1));
    let all: Vec<Rc<Cell<u32>>> = (0..3).map(|_| Rc::clone(&x)).collect();
    all[input.len() % 3].set(any(input, 1));
    let own = wait_if(block, x.get().is_multiple_of(2));
    output.mine().for_each(|(_, element)| *element = own);
}

/// A list of boxes that is turned round.
#[kernel]
pub fn turned_list(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    struct Node(u32, Option<Box<Node>>);
    let mut list = None;
    for i in 0..input.len() % 5 + 1 {
        list = Some(Box::new(Node(any(input, i), list)));
    }
    let mut turned = None;
    while let Some(mut node) = list.take() {
        list = core::mem::replace(&mut node.1, turned.take());
        turned = Some(node);
    }
    let own = wait_if(block, turned.is_some_and(|node| node.0 % 2 == 0));
    output.mine().for_each(|(_, element)| *element = own);
}

/// Memory that is written late.
#[kernel]
pub fn late_write(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let (x, y, n) = (Cell::new(0), Cell::new(0), input.len());
    let mut late = [MaybeUninit::<[&Cell<u32>; 2]>::uninit(); 2];
    let once = OnceCell::new();
    let pair = late[n % 2].write([&x, &y]);
    pair.swap(0, n % 2);
    once.get_or_init(|| pair[n % 2]).set(any(input, 0));
    let own = wait_if(block, y.get() % 2 == 0);
    output.mine().for_each(|(_, element)| *element = own);
}

/// What a future holds from one poll to the next.
#[kernel]
pub fn future(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let x = Cell::new(0);
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
            let pair = [&x, &x];
            (&mut pause).await;
            pair[input.len() % 2].set(any(input, 1));
            (&mut pause).await;
        });
        let mut context = Context::from_waker(Waker::noop());
        while future.as_mut().poll(&mut context).is_pending() {}
    }
    let own = wait_if(block, x.get().is_multiple_of(2));
    output.mine().for_each(|(_, element)| *element = own);
}

macro_rules! sums {
    ($name:ident, $input:ident, $output:ident) => {
        /// Written by a macro, which gets names.
        #[kernel(require($input.len() < 1 << 20))]
        pub fn $name(block: &mut Block<64>, $input: &[u32], mut $output: Out<u32>) {
            let own = wait_if(block, any($input, 2) % 2 == 0);
            $output.mine().for_each(|(_, element)| *element = own);
        }
    };
}
sums!(by_a_macro, input, grid);
