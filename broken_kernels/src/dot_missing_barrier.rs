//! Mistake: the barrier at the start of each tree round is missing.
//!
//! Each round reads what other threads wrote in the previous one; the first round reads their
//! shares. Threads of one warp often happen to run in step, so the last rounds seem to work without
//! a barrier; earlier rounds read slots that another warp has not written yet.
//!
//! - On a GPU: usually the right result; sometimes products are missing, and runs differ.
//! - On the emulator: the races, each with the read of a slot, another thread's write of it, and no
//!   barrier between them.
//!
//! The sound twin is `dot_tree_f32`, which has the barrier.

use cuda_std::GpuFloat;
use cuda_std::prelude::*;

/// partials\[block\] = the block's share of Σ a\[i\]·b\[i\], with races; one-dimensional blocks,
/// dynamic shared memory of `block · 4` bytes.
///
/// # Safety
/// See [the crate](crate#safety).
#[kernel]
pub unsafe fn dot_missing_barrier(a: &[f32], b: &[f32], partials: *mut f32) {
    let slots = shared::dynamic_shared_mem::<f32>();
    let threads = thread::block_dim_x() as usize;
    let thread = thread::thread_idx_x() as usize;

    let mut sum = 0.0;
    let mut i = thread::block_idx_x() as usize * threads + thread;
    while i < a.len() {
        // SAFETY: i is below both lengths.
        let (a, b) = unsafe { (*a.get_unchecked(i), *b.get_unchecked(i)) };
        sum = GpuFloat::mul_add(a, b, sum);
        i += thread::grid_dim_x() as usize * threads;
    }
    // SAFETY: one slot per thread, one partial result per block. Nothing orders the reads of other
    // threads' slots.
    unsafe {
        slots.add(thread).write(sum);
        let mut active = threads;
        while active > 1 {
            // The mistake: no barrier here.
            let half = active.div_ceil(2);
            if thread < active - half {
                let folded = slots.add(thread).read() + slots.add(thread + half).read();
                slots.add(thread).write(folded);
            }
            active = half;
        }
        if thread == 0 {
            partials
                .add(thread::block_idx_x() as usize)
                .write(slots.read());
        }
    }
}
