//! Reductions with a tree that folds neighbours first: the version to compare with.
//!
//! partials\[block\] = op over the values of the block's threads, each of which folds its share of the input first: see
//! [the family](super).
//!
//! - Slot t of the dynamic shared array gets the value of thread t.
//! - Round `distance` = 1, 2, 4, …: thread t folds slot 2·t·distance + distance into slot 2·t·distance, as long as there is such a slot.
//!   Any number of threads is right: a slot without a partner stays.
//! - Slot 0 ends up with the block's result, and thread 0 writes it.
//! - One barrier at the head of each of the ⌈log₂ threads⌉ rounds: it orders the round before, which wrote the slots that this one reads.
//! - The weakness that [`tree`](super::tree) removes: the lanes of a warp touch slots 2·distance apart. With 4-byte slots that is a 2-way
//!   conflict in the first round, then 4-way, and so on up to 16-way in the fourth, where 16 lanes of the first warp are left.
//!
//! | H200, driver 580.159, 2026-11-21 | sum 2²⁰, µs | sum 2²⁹, TB/s | min 2²⁹ | dot 2²⁹ | `i64` dot 2²⁷ |
//! | --- | --- | --- | --- | --- | --- |
//! | this kernel | 6.5 | 4.47 | 4.45 | 4.49 | 4.57 |
//! | its twin in CUDA C++ | 6.4 | 4.47 | 4.46 | 4.45 | 4.57 |
//! | CUB, cuBLAS | 7.8 | 4.60 | 4.48 | 4.53 | |
//!
//! All rungs' figures are medians of one run of `blockwise bench`, with cold caches; a copy read and wrote 4.25 TB/s in it. Large operands
//! are limited by memory in every rung; how a block combines its threads' values shows in small ones.

use cuda_std::prelude::*;

use super::{Max, Min, Op, Sum, dot_share, share, write_partial};
use crate::number::Scalar;

/// partials\[block\] = the block's share of Σ a\[i\]·b\[i\].
///
/// # Parameters
/// - `a`, `b`: n elements each. `partials`: one element for each block.
///
/// # Launch
/// One-dimensional, a block of any 1 to 1024 threads; dynamic shared memory of `block · size_of` bytes. Any grid.
///
/// # Safety
/// The crate's rules; `b` is as long as `a`; the launch is as stated.
#[kernel(
    instances(i64, f32, f64),
    require(
        a.len() == b.len(),
        partials.len() >= grid.x as usize,
        shared_bytes as usize >= block.x as usize * size_of::<T>(),
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub unsafe fn dot_interleaved<T: Scalar>(a: &[T], b: &[T], partials: *mut T) {
    // SAFETY: passed on to the caller.
    unsafe { write_partial(partials, interleaved::<T, Sum>(dot_share(a, b))) }
}

/// partials\[block\] = the fold of the block's share of the input: the sum, the smallest or the largest element. Of the latter NaN,
/// if there is one.
///
/// # Parameters
/// - `input`: n elements. `partials`: one element for each block.
///
/// # Launch
/// One-dimensional, a block of any 1 to 1024 threads; dynamic shared memory of `block · size_of` bytes. Any grid.
///
/// # Safety
/// The crate's rules; the launch is as stated.
#[kernel(
    instances((i64 | f32 | f64, Sum | Min | Max)),
    name = "{O}_interleaved_{T}",
    require(
        partials.len() >= grid.x as usize,
        shared_bytes as usize >= block.x as usize * size_of::<T>(),
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub unsafe fn fold_interleaved<T: Scalar, O: Op>(input: &[T], partials: *mut T) {
    // SAFETY: passed on to the caller.
    unsafe { write_partial(partials, interleaved::<T, O>(share::<T, O>(input))) }
}

/// Combines the values of all threads of the block; thread 0 gets the result, the others the identity.
///
/// # Safety
/// All threads of the block call it, with a slot of dynamic shared memory for each; it is called once in a kernel.
#[inline(always)]
unsafe fn interleaved<T: Scalar, O: Op>(value: T) -> T {
    let slots = shared::dynamic_shared_mem::<T>();
    let thread = thread::thread_idx_x();
    let threads = thread::block_dim_x();
    // SAFETY: one slot for each thread; which slots a thread touches between two barriers is said below.
    unsafe {
        slots.add(thread as usize).write(value);
        let mut distance = 1;
        while distance < threads {
            // What the round before wrote comes before this round's reads.
            thread::sync_threads();
            let slot = 2 * distance * thread;
            if slot + distance < threads {
                // Reads a slot that nobody writes in this round, and its own.
                let slot = slots.add(slot as usize);
                slot.write(O::apply(slot.read(), slot.add(distance as usize).read()));
            }
            distance *= 2;
        }
        // The last write to slot 0 is thread 0's own: it needs no barrier, any other reader would.
        if thread == 0 {
            slots.read()
        } else {
            O::identity()
        }
    }
}
