//! Shared and constant statics, the dynamic array, atomics, panics.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, Ordering};

use cuda_std::atomic::{AtomicF32, AtomicF64};
use cuda_std::prelude::*;

use crate::put;

/// Block size of [`spaces`].
pub const SPACES_THREADS: u32 = 64;

#[address_space(shared)]
static mut LINE: [MaybeUninit<u32>; SPACES_THREADS as usize] =
    [const { MaybeUninit::uninit() }; SPACES_THREADS as usize];

#[address_space(constant)]
static PRIMES: [u32; 8] = [2, 3, 5, 7, 11, 13, 17, 19];

/// Blocks of [`SPACES_THREADS`], with as many `u64` of dynamic shared memory; 3 columns: the value
/// that the mirrored thread put into a shared static, into a `shared_array!`, and into the dynamic
/// array (from its low half).
#[kernel]
pub unsafe fn spaces(out: *mut u32) {
    let (thread, row) = (thread::thread_idx_x() as usize, thread::index_1d());
    let mirrored = SPACES_THREADS as usize - 1 - thread;
    // SAFETY: each thread writes its own slots; the barrier stands before any other thread reads
    // them.
    unsafe {
        let line = (&raw mut LINE).cast::<u32>();
        let own = shared_array![u32; SPACES_THREADS as usize];
        let dynamic = shared::dynamic_shared_mem::<u64>();
        line.add(thread).write(PRIMES[thread % 8]);
        own.add(thread).write(row * 10);
        dynamic
            .add(thread)
            .write(u64::from(row) << 32 | u64::from(row + 1));
        thread::sync_threads();
        put(out, row, 3, 0, line.add(mirrored).read());
        put(out, row, 3, 1, own.add(mirrored).read());
        put(out, row, 3, 2, dynamic.add(mirrored).read() as u32);
    }
}

/// Any one-dimensional launch. Every thread adds `values[thread]` to `sums[0]` and 1 to `counter`,
/// and takes part in `sums[1]` (min) and `sums[2]` (max); `sums_f64` likewise.
#[kernel]
pub unsafe fn atomics(values: &[f32], sums: *mut f32, sums_f64: *mut f64, counter: *mut u32) {
    let thread = thread::index_1d() as usize;
    if thread >= values.len() {
        return;
    }
    let value = values[thread];
    // SAFETY: everybody accesses these places atomically; that they exist is the crate's rule.
    unsafe {
        AtomicF32::from_ptr(sums).fetch_add(value, Ordering::Relaxed);
        AtomicF32::from_ptr(sums.add(1)).fetch_min(value, Ordering::AcqRel);
        AtomicF32::from_ptr(sums.add(2)).fetch_max(value, Ordering::SeqCst);
        AtomicF64::from_ptr(sums_f64).fetch_add(f64::from(value), Ordering::Relaxed);
        AtomicF64::from_ptr(sums_f64.add(1)).fetch_min(f64::from(value), Ordering::Relaxed);
        AtomicF64::from_ptr(sums_f64.add(2)).fetch_max(f64::from(value), Ordering::Relaxed);
        AtomicU32::from_ptr(counter).fetch_add(1, Ordering::AcqRel);
    }
}

/// Any one-dimensional launch: reads `values[index]`, which panics when there is no such element.
#[kernel]
pub unsafe fn checked_read(values: &[u32], index: usize, out: *mut u32) {
    // SAFETY: the crate's rule.
    unsafe { out.write(values[index]) };
}
