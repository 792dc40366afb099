//! Block-wide barriers with a result, and fences.

use cuda_std::prelude::*;

use crate::put;

/// One block; 6 columns: count, and, or of `flags[thread]`, then of constants: count of 1, and of
/// 1, or of 0.
#[kernel]
pub unsafe fn block_votes(flags: &[u32], out: *mut u32) {
    let thread = thread::thread_idx_x();
    let flag = flags[thread as usize];
    let columns = [
        thread::sync_threads_count(flag),
        thread::sync_threads_and(flag),
        thread::sync_threads_or(flag),
        thread::sync_threads_count(1),
        thread::sync_threads_and(1),
        thread::sync_threads_or(0),
    ];
    for (column, value) in (0..).zip(columns) {
        // SAFETY: the crate's rule.
        unsafe { put(out, thread, 6, column, value) };
    }
}

/// One thread writes three flags, each after a fence of another scope; read in the PTX, not in the
/// results.
#[kernel]
pub unsafe fn fences(out: *mut u32) {
    // SAFETY: the crate's rule.
    unsafe {
        out.write_volatile(1);
        thread::block_fence();
        out.add(1).write_volatile(2);
        thread::device_fence();
        out.add(2).write_volatile(3);
        thread::system_fence();
        out.add(3).write_volatile(4);
    }
}
