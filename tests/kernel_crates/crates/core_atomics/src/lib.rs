//! `core::sync::atomic` in global and shared memory.

use core::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use cuda_std::prelude::*;

/// `sum += values`, `greatest = max(values)` by `fetch_update`, `found` is set if any is 4711;
/// `firsts[block]` is 1: the number of threads of each block that got there first.
#[kernel]
pub unsafe fn core_atomics(
    values: &[i64],
    sum: *mut i64,
    greatest: *mut i64,
    found: *mut u32,
    firsts: *mut u32,
) {
    let taken = shared_array![bool; 1];
    let first = shared_array![u32; 1];
    if thread::thread_idx_x() == 0 {
        *taken = false;
        *first = 0;
    }
    thread::sync_threads();
    let value = values[thread::index_1d() as usize];
    AtomicI64::from_ptr(sum).fetch_add(value, Ordering::SeqCst);
    let _ =
        AtomicI64::from_ptr(greatest).fetch_update(Ordering::AcqRel, Ordering::Relaxed, |old| {
            (value > old).then_some(value)
        });
    if value == 4711 {
        AtomicU32::from_ptr(found).store(1, Ordering::Release);
    }
    if !AtomicBool::from_ptr(taken).swap(true, Ordering::AcqRel) {
        AtomicU32::from_ptr(first).fetch_add(1, Ordering::Relaxed);
    }
    thread::sync_threads();
    if thread::thread_idx_x() == 0 {
        *firsts.add(thread::block_idx_x() as usize) = *first;
    }
}
