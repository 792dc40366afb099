//! Reductions by a halving tree in shared memory, in the element's type: see
//! [`tree`](crate::reduce::tree).

use cuda_std::prelude::*;

use crate::number::Scalar;
use crate::reduce::{Addend, Extreme, Op, Sum, grid_stride, write_partial};

/// partials\[block\] = the block's share of Σ a\[i\]·b\[i\].
///
/// # Parameters
/// - `a`, `b`: n elements each. `partials`: one element per block.
///
/// # Launch
/// One-dimensional, blocks of 1 to 1024 threads; dynamic shared memory of `block · size_of` bytes.
/// Any grid.
///
/// # Safety
/// The crate's rules; `b` is as long as `a`; the launch is as stated.
#[kernel(
    instances(i64, f32),
    require(
        a.len() == b.len(),
        partials.len() >= grid.x as usize,
        shared_bytes as usize >= block.x as usize * size_of::<T>(),
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub unsafe fn dot_tree_raw<T: Addend>(a: &[T], b: &[T], partials: *mut <T as Addend>::Partial) {
    // SAFETY: i is below both lengths.
    let load = |i: usize| unsafe { (*a.get_unchecked(i), *b.get_unchecked(i)) };
    let share = grid_stride(a.len(), T::ZERO, load, |sum, (a, b)| a.mul_add(b, sum));
    // SAFETY: passed on to the caller.
    unsafe { write_partial(partials, tree::<T, Sum>(share).partial()) }
}

/// partials\[block\] = the fold of the block's share of the input: the sum, the minimum or the
/// maximum. Minimum and maximum propagate NaN.
///
/// # Parameters
/// - `input`: n elements. `partials`: one element per block.
///
/// # Launch
/// One-dimensional, blocks of 1 to 1024 threads; dynamic shared memory of `block · size_of` bytes.
/// Any grid.
///
/// # Safety
/// The crate's rules; the launch is as stated.
#[kernel(
    instances((f32, Sum | Extreme)),
    name = "{O}_tree_raw_{T}",
    require(
        partials.len() >= grid.x as usize,
        shared_bytes as usize >= block.x as usize * size_of::<T>(),
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub unsafe fn fold_tree_raw<T: Addend, O: Op>(
    input: &[T],
    partials: *mut <T as Addend>::Partial,
    flip: u64,
) {
    // SAFETY: i is below the length.
    let load = |i: usize| O::turned(unsafe { *input.get_unchecked(i) }, flip);
    let share = grid_stride(input.len(), O::identity(), load, O::apply);
    // SAFETY: passed on to the caller.
    unsafe { write_partial(partials, O::turned(tree::<T, O>(share), flip).partial()) }
}

/// Combines the values of all threads of the block. Thread 0 gets the result, the others the
/// identity.
///
/// # Safety
/// All threads of the block call it, with one slot of dynamic shared memory each; it is called once
/// per kernel.
#[inline(always)]
unsafe fn tree<T: Scalar, O: Op>(value: T) -> T {
    let slots = shared::dynamic_shared_mem::<T>();
    let thread = thread::thread_idx_x();
    let mut active = thread::block_dim_x();
    // SAFETY: one slot per thread; the accesses between two barriers are described below.
    // ANCHOR: tree
    unsafe {
        let slot = slots.add(thread as usize);
        slot.write(value);
        while active > 1 {
            // Orders the previous round's writes of the slots below `active` before this round's
            // reads of the upper half.
            thread::sync_threads();
            let half = active.div_ceil(2);
            if thread < active - half {
                // Reads the upper half, which no thread writes in this round, and its own slot.
                slot.write(O::apply(slot.read(), slot.add(half as usize).read()));
            }
            active = half;
        }
        // Thread 0 itself was the last to write slot 0; any other reader would need a barrier.
        if thread == 0 {
            slots.read()
        } else {
            O::identity()
        }
    }
    // ANCHOR_END: tree
}
