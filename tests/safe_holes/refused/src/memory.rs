//! Variables that threads write to by different amounts, and values that only look alike.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;
use cuda_std::unroll::unrolled;
use cuda_std::{thread, warp};

/// Bytes that are set up to a length of the thread's own: no branch says so, for one instruction sets them.
#[kernel]
pub fn set_up_to_a_threads_length(block: &mut Block<64>) {
    let mut bytes = [0_u8; 64];
    bytes[..block.thread()].fill(1);
    let middle = bytes[20];
    // parts
    if middle == 1 {
        block.sync_threads(()); // waits
    }
}

/// The same by a copy of what all threads have.
#[kernel]
pub fn copied_up_to_a_threads_length(block: &mut Block<64>) {
    let (ones, mut words) = ([1_u32; 64], [0_u32; 64]);
    let len = block.thread();
    words[..len].copy_from_slice(&ones[..len]);
    let middle = words[20];
    // parts
    if middle == 1 {
        block.sync_threads(()); // waits
    }
}

/// The same by a move within the variable.
#[kernel]
pub fn moved_up_to_a_threads_length(block: &mut Block<64>, n: u32) {
    let mut words = [0_u32; 64];
    words[0] = n;
    words.copy_within(0..block.thread() / 2, 1);
    let second = words[1];
    // parts
    if second == n {
        block.sync_threads(()); // waits
    }
}

/// A variable's address, which is what a `switch` asks for.
#[kernel]
pub fn of_a_matched_address(block: &mut Block<64>, n: u32) {
    let variable = Cell::new(n);
    let address = (&raw const variable).addr();
    // parts
    match address {
        0x10 => block.sync_threads(()), // waits
        0x20 => variable.set(1),
        0x30 => variable.set(2),
        0x40 => variable.set(3),
        _ => {}
    }
}

/// An atomic of the thread's own, which is no atomic any more when it is read.
#[kernel]
pub fn out_of_an_atomic(block: &mut Block<64>) {
    let atomic = AtomicU32::new(0);
    atomic.store(block.thread() as u32, Ordering::Relaxed);
    let value = atomic.into_inner();
    // parts
    if value == 3 {
        block.sync_threads(()); // waits
    }
}

/// Two variables that some threads exchange.
#[kernel]
pub fn through_an_exchange(block: &mut Block<64>, n: u32) {
    let (mut a, mut b) = ([n, 1], [n + 1, 2]);
    if block.thread() < 9 {
        core::mem::swap(&mut a, &mut b);
    }
    let second = a[n as usize % 2];
    // parts
    if second == 2 {
        block.sync_threads(()); // waits
    }
}

/// A result that some threads leave early with, of a function that is not part of its caller.
#[kernel]
pub fn of_an_early_result(block: &mut Block<64>, n: u32) {
    #[inline(never)]
    fn search(values: &mut [u32; 16], limit: u32) -> Option<u32> {
        values.sort_unstable();
        let mut sum = 0;
        for value in values {
            sum += *value;
            if sum > limit {
                return None;
            }
        }
        Some(7)
    }
    let mut values = [n; 16];
    let found = search(&mut values, block.thread() as u32).is_some();
    // parts
    if found {
        block.sync_threads(()); // waits
    }
}

/// The lanes that happen to run together.
#[kernel]
pub fn of_the_active_lanes(block: &mut Block<64>) {
    let lanes = warp::activemask();
    // parts
    if lanes == u32::MAX {
        block.sync_threads(()); // waits
    }
}

/// The thread's lane, as the register says it.
#[kernel]
pub fn of_the_lane(block: &mut Block<64>) {
    let lane = warp::lane_id();
    // parts
    if lane < 5 {
        block.sync_threads(()); // waits
    }
}

/// A cell that a closure sets for each of the thread's own elements.
#[kernel]
pub fn through_a_cell(block: &mut Block<64>, mut output: Out<u32>) {
    let seen = Cell::new(0);
    output.mine().for_each(|_| seen.set(seen.get() + 1));
    let count = seen.get();
    // parts
    if count > 2 {
        block.sync_threads(()); // waits
    }
}

/// A barrier that needs no token, for each of the thread's own elements.
#[kernel]
pub fn free_barrier_in_a_write(block: &mut Block<64>, tile: Shared<[u32; 100]>) {
    let _ = tile.write(block, |i| {
        thread::sync_threads(); // waits
        i as u32
    });
}

/// The same in an operation that not all lanes carry out.
#[kernel]
pub fn free_barrier_in_an_operation(block: &mut Block<64>, mut scratch: Scratch<u32>) {
    let _ = scratch.inclusive_scan(block, 1, |a, b| {
        thread::sync_threads(); // waits
        a + b
    });
}

/// Unrolled rounds of which each thread has its own number.
#[kernel]
pub fn unrolled_up_to_the_thread(block: &mut Block<64>) {
    let thread = block.thread();
    unrolled::<4>(|i| {
        // parts
        if i < thread {
            block.sync_threads(()); // waits
        }
    });
}

fn onwards<P: cuda_std::block::Phase>(block: &mut Block<64>, state: P) -> P::Next {
    block.sync_threads(state) // waits
}

/// Two states of one array, at one barrier of the source that is two of the program.
#[kernel]
pub fn of_two_states_in_one_function(block: &mut Block<64>, tile: Shared<[u32; 64]>) {
    let written = tile.write(block, |i| i as u32);
    // parts
    if block.thread() < 32 {
        let published = onwards(block, written);
        let _ = onwards(block, published);
    } else {
        onwards(block, ());
        onwards(block, ());
    }
}

struct Waits;

impl core::fmt::Display for Waits {
    fn fmt(&self, _: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        thread::sync_threads();
        Ok(())
    }
}

/// A barrier in what is printed.
#[kernel]
pub fn in_a_display(block: &mut Block<64>) {
    if block.thread() < 32 {
        cuda_std::println!("{Waits}");
    }
}
