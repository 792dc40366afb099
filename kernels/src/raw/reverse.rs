//! Reverse through a shared array.

use cuda_std::prelude::*;

use crate::number::Word;
use crate::reverse::THREADS;

/// output\[n − 1 − i\] = input\[i\], through a static shared array.
///
/// # Launch
/// One-dimensional, blocks of exactly [`THREADS`] threads. The grid strides over the tiles.
///
/// # Safety
/// The crate's rules; `output` has n elements; the block is as stated.
#[kernel(
    instances(u32),
    require(
        output.len() == input.len(),
        block.x == THREADS,
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub unsafe fn reverse_static_raw<T: Word>(input: &[T], output: *mut T) {
    // SAFETY: the array has a slot per thread; the rest is the caller's promise.
    unsafe { through_tile(input, output, shared_array![T; THREADS as usize]) }
}

/// output\[n − 1 − i\] = input\[i\], through the dynamic shared array.
///
/// # Launch
/// One-dimensional, any block; dynamic shared memory of `block · size_of` bytes. The grid strides
/// over the tiles.
///
/// # Safety
/// The crate's rules; `output` has n elements; the shared memory has that size.
#[kernel(
    instances(u32),
    require(
        output.len() == input.len(),
        shared_bytes as usize >= block.x as usize * size_of::<T>(),
        [grid.y, grid.z, block.y, block.z] == [1; 4]
    )
)]
pub unsafe fn reverse_dynamic_raw<T: Word>(input: &[T], output: *mut T) {
    // SAFETY: the caller's promise.
    unsafe { through_tile(input, output, shared::dynamic_shared_mem::<T>()) }
}

/// Reverses this block's tiles; a tile has one element per thread.
///
/// # Safety
/// `output` has as many elements as `input`; `tile` has one slot of shared memory per thread.
#[inline(always)]
unsafe fn through_tile<T: Copy>(input: &[T], output: *mut T, tile: *mut T) {
    let n = input.len();
    let threads = thread::block_dim_x() as usize;
    let thread = thread::thread_idx_x() as usize;
    let mut first = thread::block_idx_x() as usize * threads;
    while first < n {
        let count = if n - first < threads {
            n - first
        } else {
            threads
        };
        if thread < count {
            // SAFETY: first + thread is below n; only this thread writes this slot.
            unsafe { tile.add(thread).write(*input.get_unchecked(first + thread)) };
        }
        // Orders every thread's load before another thread's read of that slot.
        thread::sync_threads();
        if thread < count {
            // SAFETY: the slot was loaded; the mirrored ranges of different tiles do not overlap.
            unsafe {
                output
                    .add(n - first - count + thread)
                    .write(tile.add(count - 1 - thread).read())
            };
        }
        first += thread::grid_dim_x() as usize * threads;
        // Orders every thread's read of this tile before any thread's load of the next one.
        thread::sync_threads();
    }
}
