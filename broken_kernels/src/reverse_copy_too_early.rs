//! Mistake: an asynchronous copy into shared memory is read before it has completed.
//!
//! `cp.async` only starts a copy. A barrier does not wait for it: the thread that started it must
//! execute `cp.async.wait_all` before the barrier.
//!
//! - On a GPU: some outputs are the slots' old contents, different ones in each run.
//! - On the emulator: a read of memory that a pending copy writes, with both lines.

use cuda_std::prelude::*;

use crate::THREADS;

/// output\[n − 1 − i\] = input\[i\] for n = [`THREADS`]; one block of that many threads, dynamic
/// shared memory of one word per thread.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn reverse_copy_too_early(input: &[u32], output: *mut u32) {
    let tile = shared::dynamic_shared_mem::<u32>();
    let thread = thread::thread_idx_x() as usize;
    // SAFETY: one slot, one element and one output per thread. The copy is the mistake.
    unsafe {
        start_copy(thread, input.as_ptr().add(thread));
        // The mistake: no wait for the copy here.
        thread::sync_threads();
        let mirrored = THREADS as usize - 1 - thread;
        output.add(thread).write(tile.add(mirrored).read());
        wait_for_copies();
    }
}

/// Starts to copy a word into a slot of dynamic shared memory.
///
/// # Safety
/// Both exist until the copy has been waited for.
#[inline(always)]
unsafe fn start_copy(slot: usize, from: *const u32) {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: the caller's promise. The array is named, because the instruction takes no generic
    // address.
    unsafe {
        core::arch::asm!(
            "{{",
            ".reg .b64 to, from;",
            "mov.u64 to, cuda_std_dynamic_shared;",
            "add.s64 to, to, {offset};",
            "cvta.to.global.u64 from, {from};",
            "cp.async.ca.shared.global [to], [from], 4;",
            "}}",
            offset = in(reg64) slot * size_of::<u32>(),
            from = in(reg64) from,
        )
    };
    #[cfg(not(target_arch = "nvptx64"))]
    let _ = (slot, from);
}

/// Waits for the copies that this thread has started.
#[inline(always)]
fn wait_for_copies() {
    #[cfg(target_arch = "nvptx64")]
    // SAFETY: only waits.
    unsafe {
        core::arch::asm!("cp.async.wait_all;")
    };
}
