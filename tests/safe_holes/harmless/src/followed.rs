//! Barriers behind values that are the same for all threads, however they are computed: in functions
//! that are not inlined, that call themselves or are named by a table, and in the thread's memory.

extern crate alloc;

use super::any;
use core::cell::{Cell, RefCell};
use cuda_std::prelude::*;

/// A barrier under a condition that all threads share; how many of them are odd.
pub fn wait_if(block: &mut Block<64>, condition: bool) -> u32 {
    match condition {
        true => block.sync_threads_count(block.thread() % 2 == 1),
        false => 1,
    }
}

/// An exchange of rows of references to what all threads have.
#[kernel]
pub fn swapped_references(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let (len, zero) = (input.len(), 0);
    let n = len % 2;
    let (mut a, mut c) = ([[&len]; 2], [[&zero]; 2]);
    core::mem::swap(&mut a[n], &mut c[n]);
    let own = wait_if(block, *c[n][0] > 32);
    output.mine().for_each(|(_, element)| *element = own);
}

/// A store through an exchanged reference.
#[kernel]
pub fn store_through_a_swapped_cell(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let n = input.len() % 2;
    let (x, y) = (Cell::new(0), Cell::new(0));
    let (mut a, mut c) = ([[&x]; 2], [[&y]; 2]);
    core::mem::swap(&mut a[n], &mut c[n]);
    c[n][0].set(any(input, 3));
    let own = wait_if(block, x.get() > 32);
    output.mine().for_each(|(_, element)| *element = own);
}

/// References that threads exchange, with a barrier behind none of them.
#[kernel]
pub fn references_of_a_thread(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let (t, len) = (block.thread(), input.len());
    let (mut a, mut c) = ([[&t]; 2], [[&len]; 2]);
    core::mem::swap(&mut a[t % 2], &mut c[len % 2]);
    let own = *a[t % 2][0] as u32 + wait_if(block, len > 32);
    output.mine().for_each(|(_, element)| *element = own);
}

/// A pair of references that a function returns.
#[kernel]
pub fn returned_pair(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    #[inline(never)]
    fn pair<'a>(a: &'a Cell<u32>, b: &'a Cell<u32>, n: u32) -> [&'a Cell<u32>; 2] {
        if n > 3 { [a, b] } else { [b, a] }
    }
    let (x, y) = (Cell::new(1), Cell::new(1));
    pair(&x, &y, any(input, 0))[input.len() % 2].set(any(input, 1));
    let own = wait_if(block, y.get() > 32);
    output.mine().for_each(|(_, element)| *element = own);
}

/// A table of closures.
#[kernel]
pub fn table_of_closures(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let (x, y) = (Cell::new(1), Cell::new(1));
    let (set, leave) = (|| x.set(any(input, 5)), || y.set(3));
    let table: [&dyn Fn(); 3] = [&leave, &leave, &set];
    table[input.len() % 3]();
    let own = wait_if(block, x.get() > 32);
    output.mine().for_each(|(_, element)| *element = own);
}

/// A sum over an input, in a function that is not inlined.
#[kernel]
pub fn sum_of_an_input(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    #[inline(never)]
    fn sum(values: &[u32]) -> f32 {
        values.iter().map(|value| *value as f32).sum()
    }
    let mut own = wait_if(block, sum(input) > 32.0);
    own += sum(input.get(block.thread()..).unwrap_or(&[])) as u32;
    output.mine().for_each(|(_, element)| *element = own);
}

/// A sum over shared memory, in a function that is not inlined.
#[kernel]
pub fn sum_of_a_shared_array(
    block: &mut Block<64>,
    tile: Shared<[u32; 64]>,
    input: &[u32],
    mut output: Out<u32>,
) {
    #[inline(never)]
    fn sum(values: &[u32; 64]) -> u32 {
        values.iter().fold(0, |sum, value| sum ^ value)
    }
    let tile = block.sync_threads(tile.write(block, |i| any(input, i)));
    let own = wait_if(block, sum(&tile).is_multiple_of(2));
    output.mine().for_each(|(_, element)| *element = own);
}

/// A function that calls itself.
#[kernel]
pub fn recursion(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    fn fib(n: u32) -> u32 {
        if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
    }
    let own = wait_if(block, fib(input.len() as u32 % 9) % 2 == 1);
    output.mine().for_each(|(_, element)| *element = own);
}

/// Functions that call each other, with a variable that they pass on.
#[kernel]
pub fn recursion_with_a_variable(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    fn even(n: u32, seen: &mut [u32; 4]) -> bool {
        seen[n as usize % 4] += 1;
        n == 0 || odd(n - 1, seen)
    }
    fn odd(n: u32, seen: &mut [u32; 4]) -> bool {
        seen[n as usize % 4] += 2;
        n != 0 && even(n - 1, seen)
    }
    let mut seen = [0; 4];
    let is_even = even(input.len() as u32 % 20, &mut seen);
    let own = wait_if(block, is_even || seen[2] > 4);
    output.mine().for_each(|(_, element)| *element = own);
}

/// A table of functions.
#[kernel]
pub fn table_of_functions(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    const TABLE: [fn(u32) -> u32; 3] = [|n| n + 1, |n| n ^ 9, u32::reverse_bits];
    let value = TABLE[input.len() % 3](any(input, 2) >> 1);
    let own = wait_if(block, value.is_multiple_of(2));
    output.mine().for_each(|(_, element)| *element = own);
}

/// Functions of a float.
#[kernel]
pub fn floats(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    // The host's floats have these methods themselves.
    #[cfg(target_arch = "nvptx64")]
    use cuda_std::GpuFloat;
    let x = any(input, 2) as f32 / 1e3;
    let y = f64::from(any(input, 3));
    let mut own = wait_if(block, x.sin() > 0.1);
    own += wait_if(block, x.powf(1.3) > 20.0);
    own += wait_if(block, y.cos() + y.powf(0.1) > 0.5);
    output.mine().for_each(|(_, element)| *element = own);
}

/// A sorted array.
#[kernel]
pub fn sorted(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let mut values: [u32; 40] = core::array::from_fn(|i| any(input, i));
    values.sort_unstable();
    let own = wait_if(block, values[7].is_multiple_of(2));
    output.mine().for_each(|(_, element)| *element = own);
}

/// A sorted array of another length and order.
#[kernel]
pub fn sorted_by_key(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let mut values: [(u16, u32); 9] = core::array::from_fn(|i| (i as u16, any(input, i)));
    values.sort_unstable_by_key(|(_, value)| *value);
    let own = wait_if(block, values[2].0.is_multiple_of(2));
    output.mine().for_each(|(_, element)| *element = own);
}

/// Bytes that are compared.
#[kernel]
pub fn compared_bytes(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let first = any(input, 0).to_le_bytes();
    let bytes = [any(input, 1), any(input, 2), any(input, 1)].map(u32::to_le_bytes);
    let mut own = wait_if(block, bytes.as_flattened().starts_with(&first));
    own += wait_if(block, first.starts_with(b"ab"));
    own += wait_if(block, input.starts_with(&[0, 0x13C_6EF3]));
    own += wait_if(block, bytes.as_flattened().ends_with(&bytes[0]));
    own += wait_if(block, first.contains(&7));
    output.mine().for_each(|(_, element)| *element = own);
}

/// A cell of a reference to what a borrow guards.
#[kernel]
pub fn borrowed(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let values = RefCell::new([1, 2, 3]);
    values.borrow_mut()[input.len() % 3] = any(input, 4);
    let own = wait_if(block, values.borrow()[1] > 20);
    output.mine().for_each(|(_, element)| *element = own);
}

/// The length of a vector that is filled one by one.
#[kernel]
pub fn filled_vector(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let mut values = alloc::vec::Vec::new();
    for at in 0..input.len() % 7 + 1 {
        values.push(any(input, at));
    }
    let own = wait_if(block, values.len() > 3);
    output.mine().for_each(|(_, element)| *element = own);
}

/// A box.
#[kernel]
pub fn boxed(block: &mut Block<64>, input: &[u32], mut output: Out<u32>) {
    let value = alloc::boxed::Box::new(any(input, 3));
    let own = wait_if(block, *value > 20);
    output.mine().for_each(|(_, element)| *element = own);
}
