//! Kernels in which threads may miss a barrier, or lanes an operation of the warp; then sound ones.
//! A test of cuda_builder builds this crate. `// name: branch` and `// name: wait` mark the lines
//! that are to be reported.

use cuda_std::prelude::*;

const LIMIT: u32 = 40;

#[kernel]
pub unsafe fn branch(out: *mut u32) {
    let thread = thread::thread_idx_x();
    if thread < LIMIT { // branch: branch
        thread::sync_threads(); // branch: wait
        unsafe { *out.add(thread as usize) = 1 };
    }
}

#[kernel]
pub unsafe fn early_return(out: *mut u32, len: u32) {
    let i = thread::index_1d();
    if i >= len { // early_return: branch
        return;
    }
    thread::sync_threads(); // early_return: wait
    unsafe { *out.add(i as usize) = i };
}

#[kernel]
pub unsafe fn rounds(out: *mut u32) {
    let thread = thread::thread_idx_x();
    for round in 0..thread / LIMIT + 1 { // rounds: branch
        unsafe { *out.add(thread as usize) = round };
        thread::sync_threads(); // rounds: wait
    }
}

/// The user's lines are reported, outermost first, whatever lies between.
#[kernel]
pub unsafe fn through_calls(values: &[u32]) {
    values.iter().take(2).for_each(|&value| { // through_calls: kernel
        if value > thread::thread_idx_x() { // through_calls: inner branch
            step(value); // through_calls: inner wait
        }
    });
}

fn step(value: u32) {
    if value > 3 {
        thread::sync_threads(); // step: wait
    }
}

#[kernel]
pub unsafe fn short_circuit(out: *mut u32) {
    let thread = thread::thread_idx_x();
    let wait = || {
        thread::sync_threads();
        true
    };
    if thread < LIMIT && wait() { // short_circuit: branch
        unsafe { *out = 1 };
    }
}

struct WaitsAtTheEnd;
impl Drop for WaitsAtTheEnd {
    fn drop(&mut self) {
        thread::sync_threads();
    }
}

#[kernel]
pub unsafe fn dropped(out: *mut u32) {
    let guard = (thread::thread_idx_x() > 7).then(|| WaitsAtTheEnd);
    unsafe { *out = 1 };
    if let Some(guard) = guard { // dropped: branch
        drop(guard); // dropped: wait
    }
}

/// The number of rounds of a loop before decides, not the branch itself.
#[kernel]
pub unsafe fn after_a_loop(out: *mut u32) {
    let mut last = 0;
    while last * last < thread::thread_idx_x() {
        last += 1;
    }
    if last == 2 { // after_a_loop: branch
        thread::sync_threads(); // after_a_loop: wait
    }
    unsafe { *out = last };
}

#[kernel]
pub unsafe fn own_element(values: &[u32], out: *mut u32) {
    if values[thread::thread_idx_x() as usize] > 0 { // own_element: branch
        thread::sync_threads(); // own_element: wait
    }
    unsafe { *out = 1 };
}

#[kernel]
pub unsafe fn half_a_warp(out: *mut u32) {
    let lane = thread::thread_idx_x();
    if lane < 16 { // half_a_warp: branch
        let sum = unsafe { warp::warp_shuffle_down(u32::MAX, lane, 8, 32).0 }; // half_a_warp: wait
        unsafe { *out = sum };
    }
}

trait Stage {
    fn run(&self);
}
struct Waits;
struct GoesOn;
impl Stage for Waits {
    #[inline(never)]
    fn run(&self) {
        thread::sync_threads();
    }
}
impl Stage for GoesOn {
    #[inline(never)]
    fn run(&self) {}
}

#[kernel]
pub unsafe fn trait_object() {
    let stage: &dyn Stage = if thread::thread_idx_x() < 32 { &Waits } else { &GoesOn };
    stage.run();
}

#[inline(never)]
fn countdown(n: u32, out: *mut u32) {
    if n > 0 {
        thread::sync_threads();
        countdown(n / 2, out);
        unsafe { *out = n };
    }
}

#[kernel]
pub unsafe fn recursive(n: u32, out: *mut u32) {
    countdown(n, out); // recursive: wait
}

// Sound, and not reported.

/// Bounds checks lead out of the kernel, not past the barrier.
#[kernel]
pub unsafe fn panics(values: &[u32], out: *mut u32) {
    let tile = shared_array![u32; 64];
    let thread = thread::thread_idx_x() as usize;
    unsafe { tile.add(thread % 64).write(values[thread]) };
    thread::sync_threads();
    let other = values[unsafe { *tile.add(63 - thread % 64) } as usize];
    thread::sync_threads();
    unsafe { *out.add(thread) = other };
}

#[kernel]
pub unsafe fn whole_block(values: &[u32], steps: &[u32; 3], mode: u32, out: *mut u32) {
    let mut sum = 0;
    for chunk in values.chunks(thread::block_dim_x() as usize) {
        if let Some(value) = chunk.get(thread::thread_idx_x() as usize) {
            sum += value;
        }
        thread::sync_threads();
    }
    for (i, step) in steps.iter().enumerate() {
        match mode {
            0 if *step > 3 => thread::sync_threads(),
            1 => sum += i as u32,
            _ => {
                for _ in [1, 2, 3] {
                    thread::sync_threads();
                }
            }
        }
    }
    if thread::sync_threads_or(sum) != 0 {
        thread::sync_threads();
    }
    unsafe { *out.add(thread::thread_idx_x() as usize) = sum };
}

#[inline(never)]
fn apart(value: u32) -> u32 {
    thread::sync_threads();
    value + 1
}

#[kernel]
pub unsafe fn in_a_function(out: *mut u32) {
    let sum = apart(apart(thread::thread_idx_x()));
    thread::sync_threads();
    unsafe { *out = sum };
}

#[kernel]
pub unsafe fn whole_warps(out: *mut u32, rows: u32) {
    let row = thread::index_1d() / 32;
    if row >= rows {
        return;
    }
    let mut sum = thread::thread_idx_x();
    for delta in [16, 8, 4, 2, 1] {
        sum += unsafe { warp::warp_shuffle_xor(u32::MAX, sum, delta, 32).0 };
    }
    if unsafe { warp::warp_vote_any(u32::MAX, sum > 100) } {
        unsafe { warp::sync_warp(u32::MAX) };
    }
    unsafe { *out.add(row as usize) = sum };
}

unsafe extern "C" {
    fn __cuda_std_block_uniform(value: u32) -> u32;
}

#[kernel]
pub unsafe fn marked(values: &[u32], out: *mut u32) {
    let first = values[thread::thread_idx_x() as usize];
    if unsafe { __cuda_std_block_uniform(first) } == 3 {
        thread::sync_threads();
    }
    unsafe { *out = first };
}
