//! Where a value that differs between threads comes from, however it travels.

use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;

/// An input's element of the thread.
#[kernel]
pub fn of_an_input(block: &mut Block<64>, input: &[u32]) {
    let own = input.get(block.thread()).copied();
    // parts
    if own == Some(0) {
        block.sync_threads(()); // waits
    }
}

/// A matrix's element of the thread.
#[kernel]
pub fn of_a_matrix(block: &mut Block<8, 8>, matrix: Matrix<u32>) {
    let (x, y) = block.thread_xy();
    let own = matrix.or_default(y, x);
    // parts
    if own == 0 {
        block.sync_threads(()); // waits
    }
}

/// A comparison of slices of the thread.
#[kernel]
pub fn of_compared_slices(block: &mut Block<64>, input: &[u8]) {
    let own = input.get(block.thread()..).unwrap_or(&[]);
    let same = own.starts_with(b"abcdefgh");
    // parts
    if same {
        block.sync_threads(()); // waits
    }
}

/// The thread's own element of an output.
#[kernel]
pub fn of_an_output(block: &mut Block<64>, mut output: Out<u32>) {
    let own = output.mine().next().map(|(_, element)| *element);
    // parts
    if own == Some(0) {
        block.sync_threads(()); // waits
    }
}

/// A shared array's element of the thread.
#[kernel]
pub fn of_shared_memory(block: &mut Block<64>, tile: Shared<[u32; 64]>) {
    let tile = block.sync_threads(tile.write(block, |i| i as u32));
    let own = tile[63 - block.thread()];
    // parts
    if own < 40 {
        block.sync_threads(()); // waits
    }
}

/// The thread's own slot.
#[kernel]
pub fn of_slots(block: &mut Block<64>, tile: Shared<[u32; 64]>) {
    let mut slots = tile.slots(block, block.thread() as u32);
    slots.fold_halves(block, |a, b| a + b);
    let own = slots.mine();
    // parts
    if own.is_some() {
        block.sync_threads(()); // waits
    }
}

/// What was there before an atomic addition.
#[kernel]
pub fn of_an_atomic_addition(block: &mut Block<64>, counts: Atomics<u32>) {
    let ticket = counts.add(0, 1);
    // parts
    if ticket == Some(0) {
        block.sync_threads(()); // waits
    }
}

/// A counter that others change between two threads' loads.
#[kernel]
pub fn of_an_atomic_load(block: &mut Block<64>, counts: Atomics<u32>) {
    let now = counts.load(0);
    counts.add(0, 1);
    // parts
    if now == Some(0) {
        block.sync_threads(()); // waits
    }
}

/// The same in shared memory.
#[kernel]
pub fn of_a_histogram(block: &mut Block<64>, bins: Shared<[u32; 16]>) {
    let bins = block.sync_threads(bins.zeroed(block));
    let ticket = bins.add(3, 1);
    // parts
    if ticket == Some(0) {
        block.sync_threads(()); // waits
    }
}

static TICKETS: AtomicU32 = AtomicU32::new(0);

/// A static counter.
#[kernel]
pub fn of_a_static_counter(block: &mut Block<64>) {
    let ticket = TICKETS.fetch_add(1, Ordering::Relaxed);
    // parts
    if ticket == 0 {
        block.sync_threads(()); // waits
    }
}

/// A static counter that is only read here.
#[kernel]
pub fn of_a_static_load(block: &mut Block<64>) {
    let now = TICKETS.load(Ordering::Relaxed);
    // parts
    if now == 0 {
        block.sync_threads(()); // waits
    }
}

/// Time.
#[kernel]
pub fn of_the_clock(block: &mut Block<64>) {
    let now = cuda_std::misc::clock();
    // parts
    if now.is_multiple_of(2) {
        block.sync_threads(()); // waits
    }
}

/// The address of a variable, which no rule fixes.
#[kernel]
pub fn of_an_address(block: &mut Block<64>, input: &[u32]) {
    let mut own = [0_u32; 5];
    for (own, value) in own.iter_mut().zip(input) {
        *own = *value;
    }
    let address = core::hint::black_box(&raw const own) as usize;
    // parts
    if address.is_multiple_of(32) {
        block.sync_threads(()); // waits
    }
}

/// Through memory that another function writes.
#[kernel]
pub fn through_a_reference(block: &mut Block<64>) {
    #[inline(never)]
    fn fill(value: &mut u32, from: u32) {
        *value = from / 3;
    }
    let mut value = 0;
    fill(&mut value, block.thread() as u32);
    // parts
    if value == 0 {
        block.sync_threads(()); // waits
    }
}

/// Through a function's result.
#[kernel]
pub fn through_a_function(block: &mut Block<64>) {
    #[inline(never)]
    fn third(of: u32) -> u32 {
        of / 3
    }
    let value = third(block.thread() as u32);
    // parts
    if value == 0 {
        block.sync_threads(()); // waits
    }
}

/// Through a struct.
#[kernel]
pub fn through_a_struct(block: &mut Block<64>, n: u32) {
    struct Both {
        uniform: u32,
        own: u32,
    }
    #[inline(never)]
    fn both(uniform: u32, own: u32) -> Both {
        Both { uniform, own }
    }
    let both = both(n, block.thread() as u32);
    // parts
    if both.uniform + both.own == 9 {
        block.sync_threads(()); // waits
    }
}

/// Through an index into a local array.
#[kernel]
pub fn through_an_array(block: &mut Block<64>) {
    let table = core::hint::black_box([1_u32, 0, 1, 1, 0]);
    let value = table[block.thread() % 5];
    // parts
    if value == 0 {
        block.sync_threads(()); // waits
    }
}

/// Through the choice of an address: both variables are the same in all threads.
#[kernel]
pub fn through_a_chosen_reference(block: &mut Block<64>, n: u32) {
    let (a, b) = (n, n + 1);
    let chosen = if block.thread() < 40 { &a } else { &b };
    // parts
    for _ in 0..*chosen {
        block.sync_threads(()); // waits
    }
}

/// Through a variable that only some threads assign.
#[kernel]
pub fn through_an_assignment(block: &mut Block<64>) {
    let mut seen = false;
    if block.thread() < 40 {
        seen = true;
    }
    // parts
    if seen {
        block.sync_threads(()); // waits
    }
}

/// Through an element that only some threads assign.
#[kernel]
pub fn through_an_assigned_element(block: &mut Block<64>, at: u32) {
    let mut seen = [0_u32; 4];
    if block.thread() < 40 {
        seen[at as usize % 4] = 1;
    }
    let value = seen[(at as usize + 1) % 4];
    // parts
    if value == 1 {
        block.sync_threads(()); // waits
    }
}

/// A reduction whose operation is another one in each thread.
#[kernel]
pub fn of_a_reduction_by_a_threads_operation(block: &mut Block<64>, mut scratch: Scratch<u32>) {
    let thread = block.thread() as u32;
    let sum = scratch.reduce(block, 1, |a, b| a + b + thread);
    // parts
    if sum.is_multiple_of(2) {
        block.sync_threads(()); // waits
    }
}

/// A broadcast from a thread that each thread chooses.
#[kernel]
pub fn of_a_broadcast_from_a_threads_choice(block: &mut Block<64>, mut scratch: Scratch<u32>) {
    let thread = block.thread();
    let value = scratch.broadcast(block, thread as u32, thread);
    // parts
    if value < 40 {
        block.sync_threads(()); // waits
    }
}

/// A scan.
#[kernel]
pub fn of_a_scan(block: &mut Block<64>, mut scratch: Scratch<u32>) {
    let before = scratch.exclusive_scan(block, 1, 0, |a, b| a + b);
    // parts
    if before < 40 {
        block.sync_threads(()); // waits
    }
}
